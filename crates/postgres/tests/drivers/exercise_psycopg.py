"""psycopg 3: the extended protocol in text and binary, pipelines, COPY, server-side cursors, notices, notifications, cancelling."""

import threading

import psycopg

with psycopg.connect("", autocommit=True) as conn:
    notices = []
    conn.add_notice_handler(lambda d: notices.append(d.message_primary))
    assert conn.execute("SELECT n FROM counter WHERE id = %s", [1]).fetchone() == (0,)
    assert conn.execute("SELECT n, 'x' FROM counter WHERE id = %b", [1], binary=True).fetchone() == (0, "x")
    conn.execute("DO $$ BEGIN RAISE NOTICE 'hello'; UPDATE counter SET n = n + 1; END $$")
    assert notices == ["hello"], notices

    # Errors, and what comes after them.
    with conn.transaction():
        conn.execute("UPDATE counter SET n = n + 1")
        try:
            with conn.transaction():
                conn.execute("INSERT INTO counter VALUES (1, 0)")
            raise AssertionError("the key is taken")
        except psycopg.errors.UniqueViolation:
            pass
        assert conn.execute("SELECT n FROM counter").fetchone() == (2,)

    # COPY, both ways.
    with conn.cursor().copy("COPY counter FROM STDIN") as copy:
        copy.write_row((2, 20))
        copy.write_row((3, 30))
    with conn.cursor().copy("COPY (SELECT * FROM counter ORDER BY id) TO STDOUT") as copy:
        assert [row for row in copy.rows()] == [("1", "2"), ("2", "20"), ("3", "30")]
    try:
        with conn.cursor().copy("COPY counter FROM STDIN") as copy:
            copy.write_row((2, 20))
        raise AssertionError("the key is taken")
    except psycopg.errors.UniqueViolation:
        pass

    # A pipeline: several statements before the first answer, with one that fails.
    with conn.pipeline():
        a = conn.execute("UPDATE counter SET n = n + 1 WHERE id = 2 RETURNING n")
        b = conn.execute("SELECT sum(n) FROM counter")
        assert a.fetchone() == (21,) and b.fetchone() == (53,)
    try:
        with conn.pipeline():
            conn.execute("SELECT 1/0 FROM counter")
            conn.execute("UPDATE counter SET n = 1000")
        raise AssertionError("division by zero")
    except psycopg.errors.DivisionByZero:
        pass
    assert conn.execute("SELECT max(n) FROM counter").fetchone() == (30,)

    # A cursor of the server's.
    with conn.transaction(), conn.cursor(name="many") as cursor:
        cursor.itersize = 2
        cursor.execute("SELECT id FROM counter ORDER BY id")
        assert [row[0] for row in cursor] == [1, 2, 3]

    # Prepared statements, used often.
    for _ in range(7):
        conn.execute("UPDATE counter SET n = n - 1 WHERE id = %s", [3], prepare=True)
    assert conn.execute("SELECT n FROM counter WHERE id = 3").fetchone() == (23,)

    # Notifications of others.
    conn.execute("LISTEN changes")
    with psycopg.connect("", autocommit=True) as other:
        other.execute("NOTIFY changes, 'now'")
    assert next(conn.notifies()).payload == "now"

    # Cancelling what takes too long.
    threading.Timer(0.3, conn.cancel).start()
    try:
        conn.execute("SELECT pg_sleep(60) FROM counter")
        raise AssertionError("it was cancelled")
    except psycopg.errors.QueryCanceled:
        pass
    assert conn.execute("").description is None
print("fine")
