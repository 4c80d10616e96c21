"""psycopg2: the simple protocol, several statements in one string, named cursors, COPY."""

import io

import psycopg2

conn = psycopg2.connect("")
with conn, conn.cursor() as cursor:
    cursor.execute("SELECT n FROM counter WHERE id = %s; UPDATE counter SET n = 7 RETURNING n", [1])
    assert cursor.fetchone() == (7,)
    cursor.copy_expert("COPY counter FROM STDIN", io.StringIO("2\t20\n3\t30\n"))
with conn, conn.cursor("named") as cursor:
    cursor.execute("SELECT id FROM counter ORDER BY id")
    assert cursor.fetchmany(2) == [(1,), (2,)]
with conn.cursor() as cursor:
    cursor.execute("UPDATE counter SET n = 1000")
conn.close()
print("fine")
