"""Never finishes being imported."""

import time

while True:
    time.sleep(0.1)
