"""Two withdrawals, as frontrun tests them: every worker is a thread of this process. Prints the seconds it took."""

import os
import time

import frontrun
import psycopg2

from withdraw import withdraw

DSN = os.environ["DATABASE_URL"]


def ask(sql):
    connection = psycopg2.connect(DSN)
    connection.autocommit = True
    cursor = connection.cursor()
    cursor.execute(sql)
    rows = cursor.fetchall() if cursor.description else []
    connection.close()
    return rows


class Account:
    def __init__(self):
        ask("UPDATE account SET balance = 100 WHERE id = 1")

    def withdraw(self):
        withdraw(DSN)


def nothing_lost(_):
    return ask("SELECT balance FROM account WHERE id = 1") == [(-20,)]


start = time.time()
result = frontrun.explore(setup=Account, workers=Account.withdraw, count=2, invariant=nothing_lost)
assert not result.property_holds, "frontrun finds the lost update"
print(f"{time.time() - start:.2f}")
