// The peer of `benches/run isolation`, and its load.
//
//   node isolation.mjs serve sqlite FILE PORT ACCOUNTS       better-sqlite3, or node:sqlite without it
//   node isolation.mjs serve postgres URL PORT ACCOUNTS      pg, SERIALIZABLE, with a loop of retries
//   node isolation.mjs load PORT CONNECTIONS SECONDS ACCOUNTS
import { createRequire } from "node:module";
import { once } from "node:events";
import http from "node:http";

const require = createRequire(import.meta.url);
// As many attempts, and as long a pause, as Runnel makes.
const ATTEMPTS = 30, PAUSE = 100;

// SQLite is synchronous: a transaction is over before another request is read.
function sqlite(file, accounts) {
  let database;
  try {
    database = new (require("better-sqlite3"))(file);
  } catch {
    database = new (require("node:sqlite").DatabaseSync)(file);
  }
  database.exec("pragma journal_mode = wal");
  database.exec("pragma synchronous = full");
  database.exec("create table if not exists accounts (id integer primary key, balance integer not null)");
  if (database.prepare("select count(*) as n from accounts").get().n === 0) {
    database.exec("begin");
    const insert = database.prepare("insert into accounts values (?, 1000)");
    for (let id = 1; id <= accounts; id++) insert.run(id);
    database.exec("commit");
  }
  const read = database.prepare("select balance from accounts where id = ?");
  const write = database.prepare("update accounts set balance = ? where id = ?");
  const [begin, commit, undo] = ["begin immediate", "commit", "rollback"].map((text) => database.prepare(text));
  return {
    async transfer(from, to) {
      begin.run();
      try {
        const source = read.get(from).balance, target = read.get(to).balance;
        write.run(source - 1, from);
        write.run(target + 1, to);
        commit.run();
      } catch (error) {
        undo.run();
        throw error;
      }
    },
    async total() {
      return database.prepare("select sum(balance) as total from accounts").get().total;
    },
  };
}

async function postgres(url, accounts) {
  const pool = new (require("pg").Pool)({ connectionString: url, max: 16 });
  await pool.query("create table if not exists accounts (id bigint primary key, balance bigint not null)");
  const { rows } = await pool.query("select count(*)::int as n from accounts");
  if (rows[0].n === 0) await pool.query("insert into accounts select i, 1000 from generate_series(1, $1) i", [accounts]);
  const READ = { name: "read", text: "select balance from accounts where id = $1" };
  const WRITE = { name: "write", text: "update accounts set balance = $1 where id = $2" };
  const attempt = async (client, from, to) => {
    await client.query("begin isolation level serializable");
    const source = (await client.query({ ...READ, values: [from] })).rows[0].balance;
    const target = (await client.query({ ...READ, values: [to] })).rows[0].balance;
    await client.query({ ...WRITE, values: [Number(source) - 1, from] });
    await client.query({ ...WRITE, values: [Number(target) + 1, to] });
    await client.query("commit");
  };
  return {
    async transfer(from, to) {
      const client = await pool.connect();
      try {
        for (let tries = 1; ; tries++) {
          try {
            return await attempt(client, from, to);
          } catch (error) {
            await client.query("rollback");
            // serialization_failure, deadlock_detected
            if (!["40001", "40P01"].includes(error.code) || tries === ATTEMPTS) throw error;
            const pause = Math.random() * Math.min(PAUSE, 2 ** tries);
            await new Promise((done) => setTimeout(done, pause));
          }
        }
      } finally {
        client.release();
      }
    },
    async total() {
      return (await pool.query("select sum(balance)::text as total from accounts")).rows[0].total;
    },
  };
}

async function serve(kind, place, port, accounts) {
  const bank = await { sqlite, postgres }[kind](place, Number(accounts));
  http.createServer(async (request, response) => {
    const [, verb, from, to] = request.url.split("/");
    try {
      const answer = verb === "total" ? `${await bank.total()}` : (await bank.transfer(Number(from), Number(to)), "moved");
      response.end(answer);
    } catch (error) {
      response.statusCode = 503;
      response.end(error.code ?? error.message);
    }
  }).listen(Number(port), "127.0.0.1");
}

// Prints: transfers, failures, seconds, median and 99th percentile of their times in ms.
async function load(port, connections, seconds, accounts) {
  const agent = new http.Agent({ keepAlive: true, maxSockets: Number(connections) });
  const one = () => 1 + Math.floor(Math.random() * accounts);
  const times = [], began = performance.now(), end = began + seconds * 1000;
  let failures = 0;
  const transfer = async () => {
    const from = one();
    let to = one();
    while (to === from) to = one();
    const start = performance.now();
    const request = http.request({ agent, host: "127.0.0.1", port, method: "POST", path: `/transfer/${from}/${to}` });
    request.end();
    const [response] = await once(request, "response");
    response.resume();
    await once(response, "end");
    if (response.statusCode < 300) times.push(performance.now() - start);
    else failures++;
  };
  await Promise.all(Array.from({ length: Number(connections) }, async () => {
    while (performance.now() < end) await transfer();
  }));
  const took = (performance.now() - began) / 1000;
  times.sort((one, other) => one - other);
  const part = (share) => (times[Math.floor(times.length * share)] ?? 0).toFixed(1);
  console.log(times.length, failures, took.toFixed(2), part(0.5), part(0.99));
  agent.destroy();
}

const [command, ...rest] = process.argv.slice(2);
await { serve, load }[command](...rest);
