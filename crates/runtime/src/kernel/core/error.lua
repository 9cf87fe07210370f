-- Errors: the class, raising, and Lua's own errors in the words of programs.
--
-- A raised error is always a table of class Error: kind, message, trace, plus whatever its maker
-- adds. `K.throw` raises; the trace is taken where it is raised.
local K = ...
local error, xpcall, pcall, type, rawequal, rawget, setmetatable =
  error, xpcall, pcall, type, rawequal, rawget, setmetatable
local gmatch = string.gmatch

--- An error (an exception): a kind, a message, and where it was raised.
local Error = K.newClass("Error", K.classes.Object)
Error._methods._isError = true
K.alias("NSException", Error)
--- Error -<String?> kind
--- The kind of the error, such as `notFound`, `typeError` or `doesNotUnderstand`: what `on:do:` compares.
--- > { 1 / 0 } onError: { :e | e kind } ⇒ 'divisionByZero'

--- Error -<String?> message
--- What went wrong, in one sentence.
--- > { 1 / 0 } onError: { :e | e message } ⇒ '1 cannot be divided by 0'

--- Error -<String?> reference
--- The reference that a store could not read or write; nil for other errors.
--- > { 1 / 0 } onError: { :e | e reference } ⇒ nil

--- Error -<String?> detail
--- What the cause reported, such as the text of the operating system or of a database; nil where there is none.
--- > { 1 / 0 } onError: { :e | e detail } ⇒ nil

--- Error -<Number?> status
--- The status of the HTTP response that the error becomes; nil where the kind decides it.
--- > (Error status: 409 message: 'taken') status ⇒ 409

--- Error -<Dictionary?> headers
--- The headers of the HTTP response that the error becomes; nil where there are none.
--- > (Error kind: 'busy' message: 'later' headers: #{ 'retry-after': '5' }) headers ⇒ #{ 'retry-after': '5' }

--- Error -<Array?> fields
--- What is wrong in the content of a client: a dictionary with `pointer` and `message` for each field; nil for other
--- errors.
--- > (Error kind: 'invalid' message: 'no' fields: #{ name: 'too long' }) fields count ⇒ 1

--- Error -<nothing> setKind:<String>kind
--- Error -<nothing> setMessage:<String>message
--- Error -<nothing> setReference:<String?>reference
--- Error -<nothing> setDetail:<String?>detail
--- Error -<nothing> setStatus:<Number?>status
--- Error -<nothing> setHeaders:<Dictionary?>headers
--- Error -<nothing> setFields:<Array?>fields
--- Sets the property of that name, before the error is raised.
--- > problem := Error new. problem setKind: 'busy'. problem kind ⇒ 'busy'
for _, name in ipairs { "kind", "message", "reference", "detail", "status", "headers", "fields" } do K.ivar(Error, name) end
for _, key in ipairs {
  "_trace", "_temporary", "_native", "_uncatchable", "_isBig", "_equalsPlain", "_keyText", "_original",
  "_over", "_program", "_side", "_isError",
} do K.nilKeys[key] = true end

-- The kinds of errors that the kernel raises; those of stores, such as `notFound`, are in `crates/store`.

--- error typeError
--- A value is of another class than the message takes.
--- > { 'a' + 3 } onError: { :e | e kind } ⇒ typeError

--- error nilValue
--- A value is nil where one is needed.
--- > { a := nil. var:a/b/c := 3 } onError: { :e | e kind } ⇒ nilValue

--- error notSet
--- `required` was sent to nil.
--- > { nil required } onError: { :e | e kind } ⇒ notSet

--- error outOfRange
--- A number or a position is beyond what the message takes.
--- > { 'abc' characterAtIndex: 7 } onError: { :e | e kind } ⇒ outOfRange

--- error divisionByZero
--- A number is divided by 0.
--- > { 1 / 0 } onError: { :e | e kind } ⇒ divisionByZero

--- error doesNotUnderstand
--- The class of the receiver has no such message.
--- > { 3 frobnicate } onError: { :e | e kind } ⇒ doesNotUnderstand

--- error unknownProperty
--- A literal sets a property or an option that its class does not have.
--- > { #Cache{ tll: 3 } } onError: { :e | e kind } ⇒ unknownProperty

--- error unknownClass
--- No class has the name that a reference or a type gives while the program runs.
--- > { ref:class:{'Seed'} value } onError: { :e | e kind } ⇒ unknownClass

--- error unknownScheme
--- No scheme has the name that a reference gives while the program runs.
--- > { 'nowhere:seed' asReference value } onError: { :e | e kind } ⇒ unknownScheme

--- error unknownName
--- No variable has the name that a reference gives while the program runs.
--- > { name ← 'nowhere'. var:{name} } onError: { :e | e kind } ⇒ unknownName

--- error expectation
--- `should:` or another expectation of a test does not hold.
--- > { 3 should: 4 } onError: { :e | e kind } ⇒ expectation

--- error noMatch
--- No case of `match:` fits the value.
--- > { 3 match: [ String → { 'a text' } ] } onError: { :e | e kind } ⇒ noMatch

--- error notConnected
--- The ends of a connection do not fit.
--- > { 3 → 4 } onError: { :e | e kind } ⇒ notConnected

--- error notTranslated
--- A block cannot become a statement of the database.

--- error ambiguous
--- A name in the condition of a query is a variable of the program and a field of the table.

--- error lostLease
--- The lease of a job has ended, and another worker runs the job.

--- error recursion
--- Calls are nested too deep.

--- error memory
--- The program used up its memory, or a text became too long.

--- error returned
--- A block returns with `^` from a method that has already returned.

function K.newError(kind, message, fields)
  local err = fields or {}
  err.i_kind, err.i_message = kind, message
  return setmetatable(err, Error._methods)
end

function K.throw(kind, message, fields)
  local err = K.newError(kind, message, fields)
  err._trace = K.trace()
  error(err, 0)
end
local throw = K.throw

-- The functions of the program that run, innermost first and at most 64, as a text (`values/errors.rs`): it is kept in
-- the field `_trace` of an error, and most errors are handled before their trace is read.
local trace = K.rawNative.trace
function K.trace()
  local _, text = trace()
  return text
end

-- The frames of a trace as texts `source:line:column`, innermost first.
function K.framesOf(trace)
  local frames = {}
  local _, places = K.rawNative.sourcePlaces(trace or "")
  for line, column, source in gmatch(places, "(%d+):(%d+):(%Z*)%z") do
    frames[#frames + 1] = source .. ":" .. line .. (column == "0" and "" or ":" .. column)
  end
  return frames
end

-- Raises an Error object as it is, with a trace when it has none.
function K.raise(err)
  if type(err) == "table" and rawget(err, "_trace") == nil then err._trace = K.trace() end
  error(err, 0)
end

-- LuaJIT's own messages, in words about programs.
local friends = {
  { "stack overflow", "recursion", "the recursion is too deep", "does the method that calls itself come to an end?" },
  { K.memoryMessage, "memory", K.memoryExplanation, "work on parts, or on a stream" },
  { "string length overflow", "memory", "a text became too long", "work on parts, or on a stream" },
  { "attempt to compare", "typeError", "these two cannot be compared", "compare numbers with numbers and texts with texts" },
  { "attempt to perform arithmetic", "typeError", "arithmetic needs numbers", nil },
  { "attempt to concatenate", "typeError", "this cannot be joined to a text", nil },
  { "attempt to call", "typeError", "this is not a block, it cannot be called", nil },
  { "attempt to index", "typeError", "this has no parts", nil },
  { "bad argument", "typeError", "an argument is of the wrong kind", nil },
  { "attempt to yield across", "failed", "waiting is not possible inside this callback", nil },
}

function K.fromLua(text, trace)
  -- The place is in the trace: the message names a line of Lua.
  text = string.gsub(text, "^.-\1%d+:%d+: ", "")
  local err
  for _, friend in ipairs(friends) do
    if string.find(text, friend[1], 1, true) then
      err = K.newError(friend[2], friend[3], { i_hint = friend[4], i_detail = text })
      break
    end
  end
  if not err then err = K.newError("failed", (string.gsub(text, "^%S-:%d+: ", "")), { i_detail = text }) end
  -- A function that found no stack has not begun: its caller is the place.
  if err.i_kind == "recursion" then trace = string.gsub(trace, "^%Z*%z", "") end
  err._trace = trace
  return err
end

-- The handler of every protected call: makes an Error of what was raised, where it was raised.
local function handler(raised)
  if type(raised) == "table" then return raised end
  local ok, trace = pcall(K.trace)
  return K.fromLua(tostring(raised), ok and trace or "")
end
K.handler = handler

-- The handler is not asked when memory ran out, or when there was no stack left for it.
local function asRaised(value)
  if type(value) == "string" then return K.fromLua(value, "") end
  return value
end
K.asRaised = asRaised

-- Runs a block under protection: whether it came to its end, and its value or what was raised.
local function try(block, a, b)
  local ok, value = xpcall(block, handler, a, b)
  if ok then return true, value end
  return false, asRaised(value)
end
K.try = try

-- Leaving a method from a block in it: `^` ------------------------------------------------------

function K.home(body)
  local token = {}
  local ok, value = try(body, token)
  if ok then return value end
  token.left = true
  if rawequal(value, token) then return token.value end
  error(value, 0)
end

function K.leave(token, value)
  if token.left then
    throw("returned", "this block returns from a method that has already returned",
      { i_hint = "use `^` only while the method is still running" })
  end
  token.value = value
  error(token, 0)
end

-- Ends the whole script with a value.
function K.endScript(value)
  error({ _end = true, value = value }, 0)
end
