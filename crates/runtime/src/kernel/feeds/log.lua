-- The log of a change feed: its tables and triggers, and the statements on them for SQLite and PostgreSQL.
--
-- Triggers write a row of `runnel_changes` for each row that changes, in the transaction that changes it. `position` is
-- the order in which readers see them. SQLite has one writer, so positions are handed out in the order of commits.
-- In PostgreSQL a transaction may commit after a later one. There a row has no position until
-- it is committed: `runnel_number_changes` hands positions out, under a lock. A reader behind the last position
-- therefore misses nothing.
local K = ...
local native, throw, format = K.native, K.throw, string.format

-- For the other files of this room.
local own = {}
K.feedOwn = own

-- Changes that one statement reads or numbers, and those that one deletes.
local MOST_READ = 1000
local MOST_NUMBERED = 10000
local MOST_DELETED = 10000
-- The advisory lock of PostgreSQL under which tables are made and positions are handed out.
local LOCK = 7218402719

local DIALECTS = {
  sqlite = {
    NOW = "unixepoch()",
    POSITION = "position integer primary key autoincrement",
    LAST = "coalesce((select seq from sqlite_sequence where name = 'runnel_changes'), 0)",
    TABLES = "(select value from json_each($1))",
  },
  postgres = {
    NOW = "cast(extract(epoch from clock_timestamp()) as bigint)",
    POSITION = "seq bigint generated always as identity primary key, position bigint unique",
    LAST = "(select last from runnel_change_log)",
    TABLES = "(select value from json_array_elements_text(cast(cast($1 as text) as json)))",
  },
}

local TABLES = {
  sqlite = {
    "create table if not exists runnel_changes (POSITION, name text not null, kind text not null, key text, moment bigint not null)",
    "create table if not exists runnel_change_log (id integer primary key, epoch text not null, last bigint not null)",
    "create table if not exists runnel_change_tables (name text primary key, columns text not null, trimmed bigint not null)",
    "create table if not exists runnel_change_followers (name text primary key, epoch text not null, position bigint not null)",
    [[create table if not exists runnel_change_failures (follower text not null, epoch text not null, position bigint not null,
      name text not null, key text, attempts bigint not null, error text not null, isSetAside bigint not null,
      primary key (follower, epoch, position, name))]],
  },
}
TABLES.postgres = {
  TABLES.sqlite[1], TABLES.sqlite[2], TABLES.sqlite[3], TABLES.sqlite[4], TABLES.sqlite[5],
  "create index if not exists runnel_changes_new on runnel_changes (seq) where position is null",
  -- Each statement of the function sees what was committed before it began, so after the lock.
  format([[create or replace function runnel_number_changes() returns boolean language plpgsql as $runnel$
declare many bigint := 0;
begin
  if not exists (select 1 from runnel_changes where position is null) then return false; end if;
  perform pg_advisory_xact_lock(%d);
  update runnel_changes c set position = n.position from (
    select seq, (select last from runnel_change_log) + row_number() over (order by seq) as position from (
      select seq from runnel_changes where position is null order by seq limit %d) s) n where c.seq = n.seq;
  get diagnostics many = row_count;
  update runnel_change_log set last = last + many where many > 0;
  return many = %d;
end $runnel$]], LOCK, MOST_NUMBERED, MOST_NUMBERED),
}

local STATEMENTS = {
  epoch = "insert into runnel_change_log (id, epoch, last) values (1, $1, 0) on conflict (id) do nothing",
  renew = "update runnel_change_log set epoch = $1",
  state = "select epoch, LAST as last from runnel_change_log",
  entry = "select columns from runnel_change_tables where name = $1",
  enter = [[insert into runnel_change_tables (name, columns, trimmed) values ($1, $2, LAST)
    on conflict (name) do update set columns = excluded.columns, trimmed = excluded.trimmed]],
  forget = "delete from runnel_change_tables where name = $1",
  clear = "delete from runnel_changes where name = $1",
  -- One statement, so that both counts are of one moment.
  read = [[select t.many, t.trimmed, g.epoch, g.last, c.position, c.name, c.kind, c.key
    from (select count(*) as many, coalesce(max(trimmed), 0) as trimmed from runnel_change_tables where name in TABLES) t
    cross join (select epoch, LAST as last from runnel_change_log) g
    left join (select position, name, kind, key from runnel_changes where name in TABLES
      and position > cast($2 as bigint) order by position limit cast($3 as integer)) c on true
    order by c.position]],
  oldest = [[select max(position) as last from (select position, moment from runnel_changes
      where name in TABLES and position is not null order by position limit cast($4 as integer)) o
    where moment < NOW - cast($2 as bigint) or position <= LAST - cast($3 as bigint)]],
  mark = [[update runnel_change_tables set trimmed = coalesce((select max(position) from runnel_changes c
    where c.name = runnel_change_tables.name and position <= cast($2 as bigint)), trimmed) where name in TABLES]],
  trim = "delete from runnel_changes where name in TABLES and position <= cast($2 as bigint)",
  follow = [[insert into runnel_change_followers (name, epoch, position) select $1, epoch, LAST from runnel_change_log
    where true on conflict (name) do nothing]],
  follower = "select epoch, position from runnel_change_followers where name = $1",
  move = [[update runnel_change_followers set epoch = $4, position = cast($5 as bigint)
    where name = $1 and epoch = $2 and position = cast($3 as bigint)]],
  fail = [[insert into runnel_change_failures (follower, epoch, position, name, key, attempts, error, isSetAside)
    values ($1, $2, cast($3 as bigint), $4, $5, 1, $6, 0) on conflict (follower, epoch, position, name)
    do update set attempts = runnel_change_failures.attempts + 1, error = excluded.error]],
  attempts = [[select attempts from runnel_change_failures
    where follower = $1 and epoch = $2 and position = cast($3 as bigint) and name = $4]],
  passed = "delete from runnel_change_failures where follower = $1 and isSetAside = 0 and position <= cast($2 as bigint)",
  set_aside = [[update runnel_change_failures set isSetAside = 1
    where follower = $1 and epoch = $2 and position = cast($3 as bigint) and name = $4]],
  sweep = [[delete from runnel_change_failures where follower = $1 and isSetAside = 1 and position < (
    select min(position) from (select position from runnel_change_failures
      where follower = $1 order by position desc limit cast($2 as integer)) newest)]],
}

local DIALECT_STATEMENTS = {
  sqlite = {
    keys = "select name from pragma_table_info($1) where pk > 0 order by pk",
    there = "select count(*) as many from sqlite_master where type = 'table' and name = $1",
    triggers = "select name from sqlite_master where type = 'trigger' and tbl_name = $1 and name like 'change\\_feed\\_%' escape '\\'",
  },
  postgres = {
    lock = format("select cast(pg_advisory_xact_lock(%d) as text) as locked", LOCK),
    skip = "update runnel_change_log set last = last + 1",
    keys = [[select a.attname as name from pg_index i join pg_attribute a on a.attrelid = i.indrelid and a.attnum = any(i.indkey)
      where i.indrelid = to_regclass($1) and i.indisprimary order by array_position(cast(i.indkey as int2[]), a.attnum)]],
    there = "select count(*) as many from pg_class where oid = to_regclass($1) and relkind in ('r', 'p')",
    triggers = [[select tgname as name from pg_trigger where tgrelid = to_regclass($1) and tgname like 'change\_feed\_%'
      and not tgisinternal and tgenabled <> 'D']],
    schema = "select current_schema() as name, cast(cast(to_regclass($1) as oid) as bigint) as number",
  },
}

local function written(statement, words) return (string.gsub(statement, "%u[%u]+", words)) end

local known = {}
local function statementsOf(dialect)
  if known[dialect] then return known[dialect] end
  local statements = {}
  for name, statement in pairs(STATEMENTS) do statements[name] = written(statement, DIALECTS[dialect]) end
  for name, statement in pairs(DIALECT_STATEMENTS[dialect]) do statements[name] = statement end
  known[dialect] = statements
  return statements
end

local function runIn(place, statement, ...)
  local answer = native.run(place[1], place[2], place[3], statement, K.array({ ... }, select("#", ...)))
  if type(answer) == "table" and not answer._isArray then return answer:asArray() end
  return answer
end

-- Runs a named statement, or a given one.
local function run(feed, name, ...) return runIn(feed._place, feed._statements[name] or name, ...) end
own.run = run

-- Names -----------------------------------------------------------------------------------------------

local function quoted(name) return '"' .. string.gsub(name, '"', '""') .. '"' end
local function literal(text) return "'" .. string.gsub(text, "'", "''") .. "'" end

-- A table as a statement names it: in PostgreSQL `shop.orders` is in a schema.
local function tableText(feed, name)
  if feed._dialect == "sqlite" then return quoted(name) end
  return (string.gsub(name, "[^.]+", quoted))
end

-- How the catalog takes it.
local function catalogName(feed, name)
  return feed._dialect == "sqlite" and name or tableText(feed, name)
end

-- The key of a row as a JSON array of texts; NULL for a table without one.
local function keyOf(feed, row, columns)
  if #columns == 0 then return "null" end
  local parts = {}
  for i, column in ipairs(columns) do parts[i] = format("cast(%s.%s as text)", row, quoted(column)) end
  local list = table.concat(parts, ", ")
  return feed._dialect == "sqlite" and "json_array(" .. list .. ")" or "cast(json_build_array(" .. list .. ") as text)"
end

-- Triggers --------------------------------------------------------------------------------------------

local EVENTS = { "insert", "update", "delete", "truncate" }
local SQLITE_ROW = "insert into runnel_changes (name, kind, key, moment) select %s, '%s', %s, unixepoch()"

local function makeSQLiteTriggers(feed, name, columns)
  local new, old = keyOf(feed, "new", columns), keyOf(feed, "old", columns)
  -- Rows without a key have no names: the whole table is to be read again.
  local changed, deleted = #columns == 0 and "lost" or "changed", #columns == 0 and "lost" or "deleted"
  local function row(kind, key) return format(SQLITE_ROW, literal(name), kind, key) end
  local bodies = {
    insert = row(changed, new) .. ";",
    update = row(deleted, old) .. " where " .. old .. " <> " .. new .. "; " .. row(changed, new) .. ";",
    delete = row(deleted, old) .. ";",
  }
  for event, body in pairs(bodies) do
    local trigger = quoted("change_feed_" .. name .. "_" .. event)
    run(feed, format("create trigger %s after %s on %s begin %s end", trigger, event, quoted(name), body))
  end
end

-- The function runs with the rights of its owner: a writer of the table needs none on the log.
local FUNCTION = [[create or replace function %s() returns trigger language plpgsql security definer
set search_path = pg_catalog, pg_temp as $runnel$
begin
  if tg_op = 'INSERT' then
    insert into %s (name, kind, key, moment) select %s, '%s', %s, %s from runnel_new;
  elsif tg_op = 'UPDATE' then
    insert into %s (name, kind, key, moment) select %s, '%s', gone.key, %s from (
      select %s as key from runnel_old except select %s from runnel_new) gone;
    insert into %s (name, kind, key, moment) select %s, '%s', %s, %s from runnel_new;
  elsif tg_op = 'DELETE' then
    insert into %s (name, kind, key, moment) select %s, '%s', %s, %s from runnel_old;
  else
    insert into %s (name, kind, moment) values (%s, 'lost', %s);
  end if;
  return null;
end $runnel$]]

local REFERENCING = {
  insert = "referencing new table as runnel_new", delete = "referencing old table as runnel_old", truncate = "",
  update = "referencing old table as runnel_old new table as runnel_new",
}

local function makePostgresTriggers(feed, name, columns)
  local found = run(feed, "schema", tableText(feed, name))[1]
  local schema = found:at_("name")
  local log = quoted(schema) .. ".runnel_changes"
  local called = format("%s.runnel_change_%d", quoted(schema), found:at_("number"))
  local new, old, text = keyOf(feed, "runnel_new", columns), keyOf(feed, "runnel_old", columns), literal(name)
  local changed, deleted = #columns == 0 and "lost" or "changed", #columns == 0 and "lost" or "deleted"
  local now = DIALECTS.postgres.NOW
  run(feed, format(FUNCTION, called, log, text, changed, new, now, log, text, deleted, now, old, new,
    log, text, changed, new, now, log, text, deleted, old, now, log, text, now))
  for _, event in ipairs(EVENTS) do
    local on = tableText(feed, name)
    run(feed, format("create trigger change_feed_%s after %s on %s %s for each statement execute function %s()",
      event, event, on, REFERENCING[event], called))
  end
end

local function triggersOf(feed, name) return run(feed, "triggers", catalogName(feed, name)) end

local function dropTriggers(feed, name)
  local on = feed._dialect == "postgres" and " on " .. tableText(feed, name) or ""
  for _, row in ipairs(triggersOf(feed, name)) do run(feed, "drop trigger " .. quoted(row:at_("name")) .. on) end
end

-- Hands out a position that no change has, so that older cursors lie before it.
local function skipPosition(feed)
  if feed._dialect == "postgres" then return run(feed, "skip") end
  run(feed, "insert into runnel_changes (name, kind, moment) values ('', 'lost', 0)")
  run(feed, "clear", "")
end

-- Records the changes of a table from now on, unless they are recorded already.
local function record(feed, name)
  local catalog = catalogName(feed, name)
  if run(feed, "there", catalog)[1]:at_("many") == 0 then
    throw("notFound", format("the database has no table '%s'", name), { i_hint = "write the `table:` above the ChangeFeed" })
  end
  local columns = {}
  for i, row in ipairs(run(feed, "keys", catalog)) do columns[i] = row:at_("name") end
  local expected = K.json(K.array(columns, #columns))
  local entry = run(feed, "entry", name)[1]
  local complete = #triggersOf(feed, name) == (feed._dialect == "postgres" and 4 or 3)
  if entry and complete and entry:at_("columns") == expected then return end
  local make = feed._dialect == "postgres" and makePostgresTriggers or makeSQLiteTriggers
  dropTriggers(feed, name)
  make(feed, name, columns)
  skipPosition(feed)
  run(feed, "enter", name, expected)
  -- The table was made anew or restored: what happened to it meanwhile, no cursor knows.
  if entry and not complete then run(feed, "renew", K.randomToken(8)) end
end

-- The log -------------------------------------------------------------------------------------------

-- Finds the database, makes the log and the triggers.
function own.open(feed)
  if native.isInTransaction() then
    throw("invalid", "a transaction began before the ChangeFeed", { i_hint = "write the `#ChangeFeed{ … }` above it" })
  end
  local store, path, scheme = K.placeOfDatabase(feed.i_database)
  feed._place = { store, path, scheme }
  local isDatabase, answer = K.try(runIn, feed._place, "select true as answer")
  if not isDatabase then
    if K.str(answer.i_kind) == "notAllowed" then answer.i_hint = "change feeds are for SQLite and PostgreSQL" end
    error(answer, 0)
  end
  -- SQLite has no type for true.
  feed._dialect = answer[1]:at_("answer") == true and "postgres" or "sqlite"
  feed._statements = statementsOf(feed._dialect)
  K.transaction(feed.i_database, function()
    if feed._dialect == "postgres" then run(feed, "lock") end
    for _, statement in ipairs(TABLES[feed._dialect]) do run(feed, written(statement, DIALECTS[feed._dialect])) end
    run(feed, "epoch", K.randomToken(8))
    for _, name in ipairs(feed._names) do record(feed, name) end
  end, "read committed")
end

-- Gives all transactions that are committed their positions.
local function number(feed)
  if feed._dialect ~= "postgres" then return end
  repeat until not run(feed, "select runnel_number_changes() as more")[1]:at_("more")
end

local function expired(why)
  throw("gone", "the changes after this cursor are no longer known: " .. why,
    { i_hint = "take a new `cursor`, and read the tables again" })
end

-- The changes after a position: a list, the position behind them, and the epoch of the log. An error where some of
-- them are gone.
function own.read(feed, epoch, position)
  if native.isInTransaction() then
    throw("invalid", "the changes of a feed cannot be read within a transaction", { i_hint = "read them before it" })
  end
  number(feed)
  local rows = run(feed, "read", feed._tables, position, MOST_READ)
  local first, list = rows[1], {}
  local last = first:at_("last")
  if first:at_("many") < #feed._names then expired("a table is not recorded any more") end
  if epoch and first:at_("epoch") ~= epoch then expired("it is of another log") end
  if position > last then expired("it is of a later state of the database") end
  if position < first:at_("trimmed") then expired("they were kept for a time, and deleted") end
  if first:at_("position") == K.NULL or first:at_("position") == nil then return list, last, first:at_("epoch") end
  for i = 1, #rows do
    local row = rows[i]
    list[i] = { position = row:at_("position"), name = row:at_("name"), kind = row:at_("kind"), key = row:at_("key") }
  end
  return list, #list < MOST_READ and last or list[#list].position, first:at_("epoch")
end

-- The last position and the epoch.
function own.state(feed)
  number(feed)
  local row = run(feed, "state")[1]
  return row:at_("last"), row:at_("epoch")
end

-- Deletes changes that are kept no longer.
function own.trim(feed)
  number(feed)
  while true do
    local last = run(feed, "oldest", feed._tables, feed._keepTime, feed.i_maxChanges, MOST_DELETED)[1]:at_("last")
    if type(last) ~= "number" then return end
    K.transaction(feed.i_database, function()
      run(feed, "mark", feed._tables, last)
      run(feed, "trim", feed._tables, last)
    end)
  end
end

-- Ends the recording of the tables.
function own.remove(feed)
  K.transaction(feed.i_database, function()
    for _, name in ipairs(feed._names) do
      dropTriggers(feed, name)
      run(feed, "forget", name)
      run(feed, "clear", name)
    end
  end)
end
