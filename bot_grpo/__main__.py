"""`python -m bot_grpo` is `bot-grpo`."""

import sys

from bot_grpo.cli import main

sys.exit(main())
