-- Jobs in a database: their tables, and the statements on them for SQLite and PostgreSQL.
--
-- A job is a row of `runnel_jobs` from its post to its end. A worker that takes it writes its own name to `owner`.
-- `runnel_job_owners` says until when each owner is alive; jobs of others are waiting again. Time is the
-- database's, so that machines need not agree on it.
local K = ...
local native, throw = K.native, K.throw

-- For the other files of this room.
local own = {}
K.jobsOwn = own

-- The largest job, in bytes of JSON.
local LARGEST_JOB = 65536
-- Dead jobs of a queue that are kept.
local MOST_DEAD = 10000
-- Characters of an error that are kept with its job.
local LONGEST_ERROR = 1000

local DIALECTS = {
  sqlite = {
    NOW = "((julianday('now') - 2440587.5) * 86400.0)",
    KEY = "integer primary key autoincrement",
    TEXTS = "json_each($2)",
    IDS = "(select value from json_each($2))",
    LOCK = "",
  },
  postgres = {
    NOW = "cast(extract(epoch from clock_timestamp()) as double precision)",
    KEY = "bigint generated always as identity primary key",
    TEXTS = "json_array_elements_text(cast(cast($2 as text) as json))",
    IDS = "(select cast(value as bigint) from json_array_elements_text(cast(cast($2 as text) as json)))",
    LOCK = "for update skip locked",
  },
}

local TABLES = {
  [[create table if not exists runnel_jobs (id KEY, queue text not null, payload text not null, state text not null,
    due double precision not null, posted double precision not null, attempts integer not null,
    unique_key text, owner text, error text)]],
  "create index if not exists runnel_jobs_order on runnel_jobs (queue, state, due, id)",
  "create index if not exists runnel_jobs_owner on runnel_jobs (owner) where owner is not null",
  [[create unique index if not exists runnel_jobs_unique on runnel_jobs (queue, unique_key)
    where unique_key is not null and state <> 'dead']],
  "create table if not exists runnel_job_owners (owner text primary key, until double precision not null)",
  "create table if not exists runnel_job_schedules (name text primary key, moment double precision not null)",
}

local POST = [[insert into runnel_jobs (queue, payload, state, due, posted, attempts, unique_key)
  select $1, value, 'waiting', coalesce(cast($3 as double precision), NOW + cast($4 as double precision)), NOW, 0,
    cast($5 as text)
  from TEXTS where true on conflict do nothing returning id]]

local STATEMENTS = {
  post = POST,
  take = [[update runnel_jobs set state = 'running', owner = $2, attempts = attempts + 1 where id in (
      select id from runnel_jobs where queue = $1 and state = 'waiting' and due <= NOW
      order by due, id limit cast($3 as integer) LOCK)
    returning id, payload, attempts, due, posted]],
  delay = "select min(due) - NOW as delay from runnel_jobs where queue = $1 and state = 'waiting'",
  finish = "delete from runnel_jobs where owner = $1 and state = 'running' and id in IDS",
  fail = [[update runnel_jobs set state = $3, owner = null, due = NOW + cast($4 as double precision), error = $5
    where id = $1 and owner = $2]],
  trim = [[delete from runnel_jobs where queue = $1 and state = 'dead' and id not in (select id from runnel_jobs
    where queue = $1 and state = 'dead' order by due desc, id desc limit cast($2 as integer))]],
  live = [[insert into runnel_job_owners (owner, until) values ($1, NOW + cast($2 as double precision))
    on conflict (owner) do update set until = excluded.until]],
  free = [[update runnel_jobs set state = 'waiting', owner = null where owner is not null and not exists (
    select 1 from runnel_job_owners o where o.owner = runnel_jobs.owner and o.until > NOW) returning queue]],
  forget = "delete from runnel_job_owners where until <= NOW",
  leave = [[update runnel_jobs set state = 'waiting', owner = null, attempts = attempts - 1 where owner = $1]],
  left = "delete from runnel_job_owners where owner = $1",
  count = "select count(*) as count from runnel_jobs where queue = $1 and state = $2",
  counts = [[select queue, state, count(*) as count, min(due) - NOW as delay from runnel_jobs
    group by queue, state order by queue, state]],
  names = "select distinct queue from runnel_jobs order by queue",
  dead = [[select id, payload, attempts, posted, due, error from runnel_jobs where queue = $1 and state = 'dead'
    order by due desc, id desc limit cast($2 as integer)]],
  failed = [[select id, state, attempts, posted, due, error from runnel_jobs
    where queue = $1 and state <> 'running' and error is not null order by state, due desc limit cast($2 as integer)]],
  find = [[select id, payload, attempts, posted, due, error, state from runnel_jobs
    where queue = $1 and id = cast($2 as bigint)]],
  retry = [[update runnel_jobs set state = 'waiting', attempts = 0, due = NOW
    where queue = $1 and state = 'dead' and id in IDS]],
  remove = "delete from runnel_jobs where queue = $1 and state <> 'running' and id in IDS",
  schedule = "insert into runnel_job_schedules (name, moment) values ($1, cast($2 as double precision)) on conflict do nothing",
  moment = "select moment from runnel_job_schedules where name = $1",
  advance = [[update runnel_job_schedules set moment = cast($2 as double precision)
    where name = $1 and moment < cast($3 as double precision)]],
}

-- PostgreSQL notifies the workers of other processes, which watch the table of owners.
local NOTIFYING = [[with posted as (%s) select id, cast(pg_notify('runnel',
  json_build_array('lost', current_schema(), 'runnel_job_owners')::text) as text) as told from posted]]

local function written(statement, words)
  return (string.gsub(statement, "%u[%u]+", words))
end

local function statementsOf(dialect)
  local words, statements = DIALECTS[dialect], {}
  for name, statement in pairs(STATEMENTS) do statements[name] = written(statement, words) end
  if dialect == "postgres" then statements.post = string.format(NOTIFYING, statements.post) end
  return statements
end
local known = {}

for _, key in ipairs { "_place", "_dialect", "_statements" } do K.nilKeys[key] = true end

-- Runs a statement: rows as an array, or how many rows it changed.
local function runIn(place, statement, parameters)
  local answer = native.run(place[1], place[2], place[3], statement, parameters)
  if type(answer) == "table" and not answer._isArray then return answer:asArray() end
  return answer
end

-- Runs a statement on the database of jobs.
function own.run(jobs, name, ...)
  return runIn(own.placeOf(jobs), jobs._statements[name], K.array({ ... }, select("#", ...)))
end

-- The store, path and scheme of the database, with its tables made.
function own.placeOf(jobs)
  if jobs._place then return jobs._place end
  if jobs.i_database == nil then
    throw("nilValue", "these Jobs have no `database`", { i_hint = "write `#Jobs{ database: ref:sqlite:shop.db }`" })
  end
  if native.isInTransaction() then
    throw("invalid", "a transaction began before the Jobs", { i_hint = "write the `#Jobs{ … }` above it" })
  end
  local store, path, scheme = K.placeOfDatabase(jobs.i_database)
  local place = { store, path, scheme }
  local function run(statement) return runIn(place, statement, K.array({}, 0)) end
  local isDatabase, answer = K.try(run, "select true as answer")
  if not isDatabase then
    if K.str(answer.i_kind) == "notAllowed" then answer.i_hint = "jobs are kept in SQLite or PostgreSQL" end
    error(answer, 0)
  end
  -- SQLite has no type for true.
  local dialect = answer[1]:at_("answer") == true and "postgres" or "sqlite"
  local words = DIALECTS[dialect]
  local there = K.try(run, "select 1 as one from runnel_job_schedules limit 1")
  for i = 1, there and 0 or #TABLES do
    -- When two processes make a table at once, PostgreSQL refuses the second.
    local ok, fault = K.try(run, written(TABLES[i], words))
    if not ok and not K.try(run, written(TABLES[i], words)) then error(fault, 0) end
  end
  known[dialect] = known[dialect] or statementsOf(dialect)
  jobs._statements, jobs._dialect, jobs._place = known[dialect], dialect, place
  return place
end

-- The ids of jobs, from one position to another, as the statements take them.
function own.idsOf(list, from, to)
  local ids = {}
  for i = from or 1, to or #list do ids[#ids + 1] = string.format("%d", list[i].i_id) end
  return "[" .. table.concat(ids, ",") .. "]"
end

-- Posts texts of JSON to a queue; answers how many, which is less where a unique key waits already.
function own.post(jobs, queue, values, moment, delay, unique)
  local texts = {}
  for i = 1, #values do
    texts[i] = K.json(values[i])
    if #texts[i] > LARGEST_JOB then
      throw("tooLarge", string.format("a job has at most %d bytes of JSON, not %d", LARGEST_JOB, #texts[i]),
        { i_hint = "keep the data in a table or a bucket, and post its key" })
    end
  end
  local rows = own.run(jobs, "post", queue, K.json(K.array(texts, #texts)), moment, delay or 0, unique)
  if #rows > 0 then K.afterTransaction("job " .. queue, function() native.wake(queue) end) end
  return rows
end

-- The end of an attempt that failed: the job waits for its next one, or is dead.
function own.fail(jobs, queue, job, isDead, delay, text)
  own.run(jobs, "fail", job.i_id, jobs._owner, isDead and "dead" or "waiting", delay, string.sub(text, 1, LONGEST_ERROR))
  if isDead then own.run(jobs, "trim", queue, MOST_DEAD) end
end
