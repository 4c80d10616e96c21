"""Two workers under frontrun, as threads of this process: `frontrun python with_frontrun.py lose`."""

import sys
import time

import psycopg2
from frontrun import explore

from add_one import add_one

how = sys.argv[1]


def ask(sql):
    conn = psycopg2.connect("")
    conn.autocommit = True
    cursor = conn.cursor()
    cursor.execute(sql)
    answer = cursor.fetchone() if cursor.description else None
    conn.close()
    return answer


class Counter:
    def __init__(self):
        ask("UPDATE counter SET n = 0 WHERE id = 1")


start = time.monotonic()
result = explore(
    setup=Counter,
    workers=[lambda _: add_one("", how), lambda _: add_one("", how)],
    invariant=lambda _: ask("SELECT n FROM counter WHERE id = 1") == (2,),
    reproduce_on_failure=0,
)
seconds = time.monotonic() - start
print("holds" if result.property_holds else "violated", result.num_explored, f"{seconds:.3f}")
