"""Takes 60 from an account, with a read and a write that know nothing of each other."""

import os

import psycopg2


def withdraw(dsn):
    connection = psycopg2.connect(dsn)
    connection.autocommit = True
    cursor = connection.cursor()
    cursor.execute("SELECT balance FROM account WHERE id = 1")
    balance = cursor.fetchone()[0]
    cursor.execute("UPDATE account SET balance = %s WHERE id = 1", (balance - 60,))
    connection.close()


if __name__ == "__main__":
    withdraw(os.environ["DATABASE_URL"])
