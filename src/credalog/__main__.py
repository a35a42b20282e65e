"""Run the command line as `python -m credalog`."""

import sys

from credalog.cli import main

sys.exit(main())
