"""`python -m belated`: the same as the command `belated`."""

from belated.cli.main import main

if __name__ == "__main__":
    main()
