"""Optional dependencies: messages with the command that installs them."""


def install_command(extra: str) -> str:
    """Return the command that installs the packages of `extra`, an extra of belated.

    The command works wherever belated is installed, from a wheel or from a copy of the repository.

    >>> install_command("gym")
    "pip install 'belated[gym]'"
    """
    return f"pip install 'belated[{extra}]'"


def missing_extra(subject: str, packages: str, extra: str) -> str:
    """Return the error message for packages that are required but not installed.

    Parameters
    ----------
    subject : str
        Function, module or object that needs the packages.
    packages : str
        Names of the packages.
    extra : str
        Extra of belated that installs the packages.

    Returns
    -------
    str
        The message, with the command that installs the packages.

    Examples
    --------
    >>> missing_extra("belated.gym", "gymnasium", "gym")
    "belated.gym needs gymnasium: pip install 'belated[gym]'."
    """
    return f"{subject} needs {packages}: {install_command(extra)}."
