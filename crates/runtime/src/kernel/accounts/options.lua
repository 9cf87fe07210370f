-- Classes whose literals take checked options: `#Seal{ keys: …, ttl: 1 hour }`. The options are fixed when
-- the object is made. They are no variables of it, because some are secrets: neither printing nor JSON
-- shows them.
local K = ...
local type, rawget, throw, take = type, rawget, K.throw, K.optionKinds

K.nilKeys._given, K.nilKeys._isMade = true, true

-- Makes such a class: name → function of a value, a name and the object that answers what is kept. `make`
-- gets the object and its options when all of them are known.
function K.optionClass(name, options, make)
  local class = K.newClass(name, K.classes.Object)
  class._plainName = true -- a program may have a class of this name
  for option, read in pairs(options) do
    K.method(class, K.mangle(K.setterName(option)), function(self, value)
      if rawget(self, "_isMade") then
        throw("invalid", string.format("`%s` of %s is fixed when it is made", option, K.nameOf(self)))
      end
      self._given = rawget(self, "_given") or {}
      self._given[option] = read(value, option, self)
    end)
  end
  K.method(class, "connectComponents", function(self)
    if rawget(self, "_isMade") then return self end
    self._given = rawget(self, "_given") or {}
    make(self, self._given)
    self._isMade = true
    return self
  end)
  return class
end

-- What is wrong with a secret, without its value.
function K.refuseSecret(self, name, what, value)
  local class = value ~= nil and K.classOf(value)
  throw("typeError", string.format("`%s` of %s must be %s, not %s", name, K.nameOf(self), what,
    class and K.articleOf(class._name) or "nil"))
end

-- The bytes of a secret: text or Data; nil for anything else.
function K.secretBytes(value)
  if type(value) == "string" then return value end
  if type(value) ~= "table" then return nil end
  if value._isData then return value._bytes end
  if value._isText then return value:_string() end
  return nil
end

-- Durations from 0 to a longest one, in seconds.
function K.durationUpTo(longest, words)
  return function(value, name, self)
    local seconds = take.seconds(value, name, self)
    if seconds > longest then
      throw("invalid", string.format("`%s` of %s must be at most %s", name, K.nameOf(self), words))
    end
    return seconds
  end
end

-- Runs what makes keys; its error names the option.
function K.withOption(self, name, work, ...)
  local arguments = { n = select("#", ...), ... }
  local ok, value = K.try(function() return work(unpack(arguments, 1, arguments.n)) end)
  if ok then return value end
  throw("invalid", string.format("`%s` of %s: %s", name, K.nameOf(self), K.str(value.i_message)))
end
