-- Null, and the classes of arrays and dictionaries with what makes them: every file above answers
-- them. Their messages are in collections/.
local K = ...
local setmetatable, loadstring = setmetatable, loadstring

--- What stands for nil inside arrays and dictionaries. A program never sees it: to a program `NSNull null` is nil.
local Null = K.newClass("Null", K.classes.Object)
K.alias("NSNull", Null)
local NULL = setmetatable({}, Null._methods)
K.NULL = NULL

-- What stands for a value where Lua has no nil.
function K.orNull(value)
  if value == nil then return NULL end
  return value
end

--- What holds elements: the root of Array, Dictionary, Set and Interval, with the messages that they share.
local Collection = K.newClass("Collection", K.classes.Object)

--- Elements in order, at positions from 0. A literal `[1, 2]` is an Array.
local Array = K.newClass("Array", Collection)
K.alias("NSArray", Array)
--- An Array that keeps its class in `copy`-like messages such as `,`; `OrderedCollection` is another name.
local MutableArray = K.newClass("MutableArray", Array)
K.alias("NSMutableArray", MutableArray)
K.alias("OrderedCollection", MutableArray)
local arrayMethods, mutableMethods = Array._methods, MutableArray._methods

-- Adopts a Lua table of elements as an Array. With a count, there may be nil among them.
function K.array(list, n)
  if n then
    for i = 1, n do
      if list[i] == nil then list[i] = NULL end
    end
  end
  return setmetatable(list, arrayMethods)
end

function K.mutableArray(list)
  return setmetatable(list, mutableMethods)
end

--- Values by key, in the order in which the keys were added. A literal is written `#{ key: value }`.
local Dictionary = K.newClass("Dictionary", Collection)
for _, name in ipairs { "NSMutableDictionary", "NSDictionary", "MutableDictionary", "OrderedDictionary" } do
  K.alias(name, Dictionary)
end
local dictionaryMethods = Dictionary._methods

-- Adopts keys and the map from key to value; a value absent in the map is nil.
function K.dictionary(keys, map, n)
  for i = 1, n do
    if map[keys[i]] == nil then map[keys[i]] = NULL end
  end
  return setmetatable({ _keys = keys, _map = map, _n = n }, dictionaryMethods)
end

function K.newDictionary()
  return setmetatable({ _keys = {}, _map = {}, _n = 0 }, dictionaryMethods)
end

-- Lists of names of literals whose functions are remembered.
local MOST_MAKERS = 1000
local makers, count = {}, 0

-- The function that makes a dictionary of values, for names `a,b,`: it is generated, and its dictionaries
-- share their keys.
local function maker(names)
  local keys, parameters, checks, entries = { [0] = true }, {}, {}, {}
  for name in string.gmatch(names, "[^,]+") do
    local i = #keys + 1
    local value = "v" .. i
    keys[i], parameters[i] = name, value
    checks[i] = string.format("if %s==nil then %s=NULL end ", value, value)
    entries[i] = string.format("[%q]=%s", name, value)
  end
  local source = string.format("local setmetatable,methods,NULL,keys=... return function(%s) %s"
    .. "return setmetatable({_keys=keys,_map={%s},_n=%d},methods) end", table.concat(parameters, ","),
    table.concat(checks), table.concat(entries, ","), #keys)
  return loadstring(source, "=dictionary")(setmetatable, dictionaryMethods, NULL, keys)
end

-- What makes a literal `#{ a: …, b: … }` of its values, for different names `a,b,`.
function K.dictionaryOf(names)
  local make = makers[names]
  if make then return make end
  make = maker(names)
  if count < MOST_MAKERS then
    count, makers[names] = count + 1, make
  end
  return make
end
