-- Stores of other machines with options of their own, which the command around the program makes.
local K = ...
local type, throw, take = type, K.throw, K.optionKinds

-- A dictionary of texts.
function take.texts(value, name, self)
  if type(value) ~= "table" or not value._isDictionary then
    throw("invalid", string.format("`%s` of %s must be a dictionary of texts", name, K.nameOf(self)))
  end
  local keys, texts, n = {}, {}, 0
  value:keysAndValuesDo_(function(key, text)
    n = n + 1
    keys[n] = K.str(key)
    texts[keys[n]] = K.str(text)
  end)
  return K.dictionary(keys, texts, n)
end

local function none() return {}, {} end

-- A part of the web: what each request says beside its address.
K.nativeCombinator {
  name = "HTTPStore", kind = "remote:http", super = K.classes.MappingStore, parts = none,
  options = {
    base = take.text, headers = take.texts, token = take.text, user = take.text, password = take.text,
    timeout = take.seconds, socket = take.text, maxConnections = take.count, poolTimeout = take.seconds,
    maxRedirects = take.count,
  },
}

-- A bucket.
K.nativeCombinator {
  name = "S3Store", kind = "remote:s3", super = K.classes.MappingStore, parts = none,
  options = {
    bucket = take.text, endpoint = take.text, region = take.text, key = take.text, secret = take.text,
    token = take.text, pathStyle = take.flag,
  },
}

-- A mail server: what is written to an address is sent. A literal says at once what is wrong with it.
local MailServer = K.nativeCombinator {
  name = "MailServer", kind = "remote:mail", super = K.classes.MappingStore, parts = none,
  options = { url = take.text, from = take.text },
}
local literal = MailServer._meta._literal
K.classMethod(MailServer, "_literal", function(class, keys, values, n)
  local server = literal(class, keys, values, n)
  K.innerStore(server)
  return server
end)
