// Adds one to the counter: reads it, and writes it back. With `atomic`, in one statement.
const { Client } = require("pg");

(async () => {
  const client = new Client();
  await client.connect();
  await client.query("BEGIN");
  if (process.argv[2] === "atomic") {
    await client.query("UPDATE counter SET n = n + 1 WHERE id = 1");
  } else {
    const { rows: [{ n }] } = await client.query("SELECT n FROM counter WHERE id = 1");
    await client.query("UPDATE counter SET n = $1 WHERE id = 1", [n + 1]);
  }
  await client.query("COMMIT");
  await client.end();
})();
