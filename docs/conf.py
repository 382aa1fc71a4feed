"""Configuration of the documentation site: `make docs` writes it to build/site."""

import sys
from pathlib import Path

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE / "extensions"))

import belated  # noqa: E402

project = "belated"
author = "The belated authors"
copyright = "The belated authors"
release = belated.__version__

extensions = [
    "myst_nb",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.napoleon",
    "sphinx.ext.viewcode",
    "sphinx_copybutton",
    "generated_pages",
    "public_names",
]
smartquotes = False  # options begin with two hyphens
templates_path = ["_templates"]
exclude_patterns = ["_templates", "README.md"]
suppress_warnings = ["myst.header"]  # tables of results begin at the third level

# Markdown and notebooks. Notebooks are stored with their outputs, which the tests compare.
myst_enable_extensions = ["colon_fence", "deflist"]
myst_heading_anchors = 4
nb_execution_mode = "off"
nb_mime_priority_overrides = [("html", "image/png", 5), ("html", "text/html", 10)]
copybutton_exclude = ".linenos, .gp, .go"  # prompts and outputs are not copied

# Names of the package.
nitpicky = True
nitpick_ignore_regex = [("py:.*", r"(?!belated\b).*")]  # only names of belated must have a page
python_use_unqualified_type_names = True
autodoc_typehints = "signature"
maximum_signature_line_length = 80
autodoc_member_order = "bysource"
autosummary_generate = True
autosummary_ignore_module_all = False
napoleon_google_docstring = False
napoleon_use_rtype = False
napoleon_preprocess_types = True

html_theme = "furo"
html_title = "belated"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_copy_source = False
html_show_sphinx = False
html_theme_options = {"navigation_with_keys": True}
