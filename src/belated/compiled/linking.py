"""Code of functions for the compiled functions that call them, which contain it.

It is LLVM code, and is not compiled to machine code.
"""

from typing import Any, NamedTuple

import numba.core.codegen
import numba.core.compiler
import numba.core.environment
import numba.core.registry

# numba is typed in part; these parts are not, or not as they are used here
Compiler: Any = numba.core.compiler.Compiler
CPUDispatcher: Any = numba.core.registry.CPUDispatcher
codegen: Any = numba.core.codegen
compile_result: Any = numba.core.compiler.compile_result
lookup_environment: Any = numba.core.environment.lookup_environment


class LinkedDispatcher(CPUDispatcher):  # type: ignore[misc]
    """Function that only compiled functions call, which contain its code."""

    def add_overload(self, cres: Any) -> None:
        """Add the compilation result `cres` of one signature."""
        self.overloads[tuple(cres.signature.args)] = cres


class LinkedCompiler(Compiler):  # type: ignore[misc]
    """Compiler of a `LinkedDispatcher`, which generates LLVM code, but no machine code."""

    def define_pipelines(self) -> Any:
        """Return the passes of the compiler, which store the code in a `LinkedLibrary`."""
        state = self.state
        state.flags.no_compile = True
        state.library = LinkedLibrary(state.targetctx.codegen(), state.func_id.func_qualname)
        return super().define_pipelines()

    def compile_extra(self, function: Any) -> Any:
        """Return the result of compiling `function`, by which numba finds it in calls."""
        result = super().compile_extra(function)._replace(entry_point=object())
        context = result.target_context
        context.insert_user_function(result.entry_point, result.fndesc, [result.library])
        return result


class LinkedLibrary(codegen.JITCodeLibrary):  # type: ignore[misc]
    """LLVM code of a function, which becomes a part of the functions that call it."""

    def _finalize_final_module(self) -> None:
        """Mark the library as complete, without compiling it to machine code."""
        self._finalize_dynamic_globals()
        self._finalized = True

    def reduce(self, result: Any) -> "LinkedCode":
        """Return the compilation `result` of this library in the form that is cached."""
        descriptor = result.fndesc
        descriptor.typemap = descriptor.calltypes = None  # not needed, as in numba
        bitcode = self._get_module_for_linking().as_bitcode()
        environments = tuple(result._find_referenced_environments())
        return LinkedCode(self.name, bitcode, descriptor, result.signature, environments)


class LinkedCode(NamedTuple):
    """Compiled code of a `LinkedDispatcher` for one signature, as cached on disk."""

    name: str
    bitcode: bytes
    descriptor: Any
    signature: Any
    environments: tuple[Any, ...]

    def rebuild(self, context: Any) -> Any:
        """Return the compilation result that `LinkedLibrary.reduce` reduced to this code."""
        library = LinkedLibrary(context.codegen(), self.name)
        library._shared_module = codegen.ll.parse_bitcode(self.bitcode)
        library._finalized = True
        return compile_result(
            typing_context=context.typing_context,
            target_context=context,
            typing_error=None,
            entry_point=object(),
            signature=self.signature,
            objectmode=False,
            lifted=(),
            fndesc=self.descriptor,
            library=library,
            referenced_envs=self.environments,  # numba looks them up as long as they exist
        )


def set_environments(library: Any) -> None:
    """Set the environments of all functions whose code `library` contains.

    An environment holds the globals of a function; numba reads it, for example, to print a number.
    Numba sets only that of a function with machine code of its own.
    """
    for variable in library._final_module.global_variables:
        if (environment := lookup_environment(variable.name)) is not None:
            library.codegen.set_env(variable.name, environment)
