"""How the documentation site is built: `make docs`, which is `sphinx-build -W -c docs . build/docs`.

The source is the whole project, so that a link between two files of it is the same in a page and in the
repository. Nothing is fetched: what a page shows is part of the site.
"""

from __future__ import annotations

import sys
from importlib.metadata import version as version_of
from pathlib import Path

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE / "_ext"))

project = "Credalog"
author = "the Credalog authors"
copyright = "the Credalog authors; Apache-2.0"
version = release = version_of("credalog")

extensions = [
    "myst_nb",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx_copybutton",
    "sphinx_design",
    "highlighting",
    "reference",
]

# ---- which files are pages ------------------------------------------------------------------------------

root_doc = "docs/index"
include_patterns = [
    "docs/**",
    "examples/**",
    "benchmarks/README.md",
    "benchmarks/results/**",
    "experiments/**",
    "editors/vscode/README.md",
    "ARCHITECTURE.md",
    "CHANGELOG.md",
    "CONTRIBUTING.md",
]
exclude_patterns = ["**/.*", ".*", "build", "dist", "docs/_*", "**/__pycache__", "**/.ipynb_checkpoints"]

# ---- Markdown and notebooks -----------------------------------------------------------------------------

myst_enable_extensions = ["colon_fence", "deflist"]
myst_heading_anchors = 4
nb_execution_mode = "force"
nb_execution_timeout = 120
nb_execution_raise_on_error = True
nb_execution_excludepatterns: list[str] = []

highlight_language = "text"

# ---- Python ---------------------------------------------------------------------------------------------

autodoc_typehints = "signature"
autodoc_member_order = "bysource"
autodoc_class_signature = "separated"
python_use_unqualified_type_names = True
python_maximum_signature_line_length = 90

# ---- the look -------------------------------------------------------------------------------------------

html_theme = "furo"
html_title = "Credalog"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_extra_path = ["_extra"]
html_copy_source = False
html_show_sphinx = False
html_favicon = "_static/favicon.svg"
pygments_style = "friendly"
pygments_dark_style = "github-dark"
html_theme_options = {
    "sidebar_hide_name": False,
    "light_css_variables": {
        "color-brand-primary": "#1f5fa8",
        "color-brand-content": "#1f5fa8",
        "font-stack": "system-ui, -apple-system, 'Segoe UI', Roboto, 'Noto Sans', sans-serif",
        "font-stack--monospace": "ui-monospace, 'SFMono-Regular', 'DejaVu Sans Mono', Consolas, monospace",
    },
    "dark_css_variables": {"color-brand-primary": "#7db4f0", "color-brand-content": "#7db4f0"},
}
copybutton_prompt_text = r"^\$ "
copybutton_prompt_is_regexp = True
copybutton_only_copy_prompt_lines = True
