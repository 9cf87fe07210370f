-- What a program says of itself: `log info: 'paid'` and `metrics count: 'orders'`.
local K = ...
local throw, native = K.throw, K.native
local Object = K.classes.Object

-- A dictionary as JSON, or nil.
local function jsonOf(given, selector, what)
  if given == nil then return nil end
  if type(given) ~= "table" or K.isClass(given) or not given._isDictionary then
    throw("typeError", string.format("%s expects a dictionary of %s, got %s", selector, what, K.nameOf(given)))
  end
  return K.json(given)
end

-- Log ---------------------------------------------------------------------------------------------

--- The log of the program, `log`: lines with a time, a level, a message and fields, on standard error.
local Log = K.newClass("ProgramLog", Object)
Log._plainName = true
--- ProgramLog -<nothing> debug:<any>message
--- Logs a message for developers; shown with `RUNNEL_LOG=debug`.
--- > log debug: 'cache is empty'

--- ProgramLog -<nothing> info:<any>message
--- ProgramLog -<nothing> warn:<any>message
--- ProgramLog -<nothing> error:<any>message
--- Logs a message of that level. Control characters in it are escaped.
--- > log info: 'ready'

--- ProgramLog -<nothing> debug:<any>message with:<Dictionary?>fields
--- ProgramLog -<nothing> info:<any>message with:<Dictionary?>fields
--- ProgramLog -<nothing> warn:<any>message with:<Dictionary?>fields
--- ProgramLog -<nothing> error:<any>message with:<Dictionary?>fields
--- Logs a message with fields. Those whose names are of secrets, such as `password` and `apiKey`, are hidden.
--- > log info: 'paid' with: #{ amount: 3, order: 7 }
for _, level in ipairs { "debug", "info", "warn", "error" } do
  K.method(Log, K.mangle(level .. ":"), function(_, message) native.logLine(level, K.str(message), nil) end)
  local selector = level .. ":with:"
  K.method(Log, K.mangle(selector), function(_, message, fields)
    native.logLine(level, K.str(message), jsonOf(fields, selector, "fields"))
  end)
end
--- name log
--- The log of the program.
--- > log info: 'paid' with: #{ amount: 3, order: 7 }
K.predefine("log", setmetatable({}, Log._methods))

-- Metrics -----------------------------------------------------------------------------------------

local function record(kind, name, value, labels, selector)
  if type(value) == "table" and value._isDuration then value = value._seconds end
  if type(value) == "table" and value._isDecimal then value = K.str(value) + 0 end
  if type(value) ~= "number" then
    throw("typeError", string.format("%s expects a number or a duration, got %s", selector, K.nameOf(value)))
  end
  native.metric(kind, K.expectText(name, selector), value, jsonOf(labels, selector, "labels"))
end

--- The metrics of the program, `metrics`: counters, gauges and histograms on `/metrics` of the admin port. All workers
--- share them. A program has at most 1000 series; values of further ones are counted as lost.
local Metrics = K.newClass("ProgramMetrics", Object)
Metrics._plainName = true
K.methods(Metrics, {
  --- -<nothing> count:<String>name
  --- Adds 1 to a counter; its name on `/metrics` ends in `_total`.
  --- > metrics count: 'orders'
  ["count:"] = function(_, name) record("counter", name, 1, nil, "count:") end,
  --- -<nothing> count:<String>name with:<Dictionary?>labels
  --- Adds 1 to the series of a counter with these labels.
  --- > metrics count: 'orders' with: #{ kind: 'gift' }
  ["count:with:"] = function(_, name, labels) record("counter", name, 1, labels, "count:with:") end,
  --- -<nothing> count:<String>name by:<Number>number
  --- Adds a number from 0 to a counter.
  --- > metrics count: 'bytes' by: 512
  ["count:by:"] = function(_, name, number) record("counter", name, number, nil, "count:by:") end,
  --- -<nothing> count:<String>name by:<Number>number with:<Dictionary?>labels
  --- Adds a number from 0 to the series of a counter with these labels.
  --- > metrics count: 'bytes' by: 512 with: #{ kind: 'image' }
  ["count:by:with:"] = function(_, name, number, labels) record("counter", name, number, labels, "count:by:with:") end,
  --- -<nothing> gauge:<String>name value:<Number|Duration>value
  --- Sets a gauge; a duration counts in seconds.
  --- > metrics gauge: 'queue_length' value: 12
  ["gauge:value:"] = function(_, name, value) record("gauge", name, value, nil, "gauge:value:") end,
  --- -<nothing> gauge:<String>name value:<Number|Duration>value with:<Dictionary?>labels
  --- Sets the series of a gauge with these labels.
  --- > metrics gauge: 'queue_length' value: 12 with: #{ queue: 'mail' }
  ["gauge:value:with:"] = function(_, name, value, labels) record("gauge", name, value, labels, "gauge:value:with:") end,
  --- -<nothing> histogram:<String>name value:<Number|Duration>value
  --- Counts a value in the buckets of a histogram, from 0.001 to 10000; a duration counts in seconds.
  --- > metrics histogram: 'payment_seconds' value: 0.3 seconds
  ["histogram:value:"] = function(_, name, value) record("histogram", name, value, nil, "histogram:value:") end,
  --- -<nothing> histogram:<String>name value:<Number|Duration>value with:<Dictionary?>labels
  --- Counts a value in the series of a histogram with these labels.
  --- > metrics histogram: 'payment_seconds' value: 0.3 seconds with: #{ bank: 'a' }
  ["histogram:value:with:"] = function(_, name, value, labels)
    record("histogram", name, value, labels, "histogram:value:with:")
  end,
})
--- name metrics
--- The metrics of the program: counters, gauges and histograms.
--- > metrics count: 'orders'
K.predefine("metrics", setmetatable({}, Metrics._methods))
