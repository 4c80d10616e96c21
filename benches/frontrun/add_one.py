"""What both tools are given: adds one to a counter, over a connection of its own. The counter is read before; `lose` writes what was read,
`keep` leaves the sum to the database."""

import psycopg2


def add_one(dsn, how):
    conn = psycopg2.connect(dsn)
    conn.autocommit = True
    cursor = conn.cursor()
    cursor.execute("SELECT n FROM counter WHERE id = 1")
    [n] = cursor.fetchone()
    if how == "lose":
        cursor.execute("UPDATE counter SET n = %s WHERE id = 1", [n + 1])
    else:
        cursor.execute("UPDATE counter SET n = n + 1 WHERE id = 1")
    conn.close()
