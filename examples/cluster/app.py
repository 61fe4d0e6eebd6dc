"""tailpipe as the application of spark-submit: `spark-submit app.py collect`."""

from tailpipe.cli.app import main

main()
