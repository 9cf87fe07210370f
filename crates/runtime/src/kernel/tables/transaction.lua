-- Transactions: `db transaction: { … }`. The block runs again where other transactions got in the way.
local K = ...
local type, rawget, error, setmetatable = type, rawget, error, setmetatable
local native, throw, try = K.native, K.throw, K.try

-- How often a transaction is tried; from the third time on, those of this worker take turns.
local ATTEMPTS = 30
local TURNS_FROM = 3
-- The longest pause before the next try, in seconds, and the longest wait for a turn.
local PAUSE = 0.1
local TURN = 1

-- The store, path and scheme of a database.
function K.placeOfDatabase(self)
  if self._isReference then
    local store = rawget(self, "_store") or K.schemeNamed(self._scheme)
    return K.nativeStore(store), self._path, self._scheme
  end
  return self, "", nil
end

--- A transaction as its block gets it.
local Transaction = K.newClass("Transaction", K.classes.Object)
for _, key in ipairs { "_held", "_gaveUp", "_left", "_metOthers" } do K.nilKeys[key] = true end

K.methods(Transaction, {
  --- -<nothing> rollback
  --- -<nothing> rollBack
  --- Leaves the block of the transaction and undoes what it wrote; the transaction answers nil. After its end it is an
  --- error.
  --- > ref:sqlite::memory: transaction: { :tx | tx rollback. 1 } ⇒ nil
  ["rollback"] = function(self)
    if rawget(self, "_left") then throw("invalid", "this transaction has ended already") end
    error({ _gaveUp = self }, 0)
  end,
  ["rollBack"] = function(self) return self:rollback() end,
})

local isReturn = K.isReturn

-- What is done when the outermost transaction of a fiber has ended, by that transaction and a key.
local afterwards = {}

-- Runs a block when the transaction of this fiber has ended, or now outside of one. Blocks of one key run once.
function K.afterTransaction(key, block)
  local transaction = native.outermostTransaction()
  if transaction == nil then return block() end
  local blocks = afterwards[transaction] or {}
  afterwards[transaction], blocks[key] = blocks, block
end

local function once(self, block, isolation)
  local store, path, scheme = K.placeOfDatabase(self)
  local held = native.begin(store, path, scheme, isolation)
  local tx = setmetatable({}, Transaction._methods)
  native.enterTransaction(held)
  local ok, value = try(block, tx)
  local transaction = native.outermostTransaction()
  native.leaveTransaction(held)
  tx._left = true
  -- Of nested transactions, the outermost one is left for none.
  local blocks = not native.isInTransaction() and afterwards[transaction]
  if blocks then afterwards[transaction] = nil end
  if ok or isReturn(value) then
    native.commit(held)
    for _, after in pairs(blocks or {}) do after() end
    if ok then return value end
    error(value, 0)
  end
  -- What made it fail matters more than what may go wrong while it is given up.
  local given, failure = try(native.rollBack, held)
  if type(value) == "table" and rawget(value, "_gaveUp") == tx then
    if not given then error(failure, 0) end
    return nil
  end
  error(value, 0)
end

-- Whether a transaction failed only because of others at the same time.
local function metOthers(fault)
  return type(fault) == "table" and fault._isError and fault._temporary == true
    and K.str(fault.i_kind) == "conflict" and not rawget(fault, "_uncatchable") and not rawget(fault, "_metOthers")
end

-- Who tries again, by database.
local turns = {}

local function turn(key)
  local waited = 0
  while turns[key] and waited < TURN do
    local pause = (1 + 4 * math.random()) / 1000
    native.sleep(pause)
    waited = waited + pause
  end
  local own = {}
  turns[key] = own
  return own
end

-- One transaction within another is a savepoint; the outermost is tried again.
function K.transaction(self, block, isolation)
  K.expectBlock(block, "transaction:")
  if isolation ~= nil then isolation = K.expectText(isolation, "isolation:") end
  if native.isInTransaction() then return once(self, block, isolation) end
  local store, path = K.placeOfDatabase(self)
  local key = path == "" and store or path
  for attempt = 1, ATTEMPTS do
    local own = attempt >= TURNS_FROM and turn(key)
    local ok, value = try(function() return once(self, block, isolation) end)
    if own and turns[key] == own then turns[key] = nil end
    if ok then return value end
    if not metOthers(value) then error(value, 0) end
    if attempt == ATTEMPTS then
      value.i_message = string.format("other transactions got in the way %d times", ATTEMPTS)
      value._metOthers = true
      error(value, 0)
    end
    native.sleep(math.min(PAUSE, 2 ^ attempt / 1000) * math.random())
  end
end
