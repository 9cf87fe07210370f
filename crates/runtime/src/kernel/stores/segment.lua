-- Values in references: `{…}` and `{*…}`, each encoded for its place.
--
-- In a path a value is one segment. `/`, `?`, and a `%` that begins an escape would mean something else
-- there, so they are written `%2F`, `%3F` and `%25`: the counterpart of `crates/store/src/reference/segment.rs`. In a
-- query a value is percent-encoded, and an authority takes the characters of a host and a port alone.
local K = ...
local type, find, gsub, match, sub, byte = type, string.find, string.gsub, string.match, string.sub, string.byte
local format = string.format
local str, throw = K.str, K.throw

-- No address escapes letters and digits, so `%41` is a text.
local ESCAPE = "%%(%x%x)"
local function escaped(digits)
  if not find(string.char(tonumber(digits, 16)), "[%w]") then return "%25" .. digits end
end

local function refuse(message, hint) throw("invalid", message, { i_hint = hint }) end

-- The text of a value; nil, the empty text and NUL never stand in a reference.
local function textOf(value)
  if value == nil or value == K.NULL then
    refuse("`{…}` in a reference is nil", "give the value first, or ask `isNil` before the reference is used")
  end
  local text = str(value)
  if text == "" then
    refuse("`{…}` in a reference is the empty text", "ask `isEmpty` before the reference is used")
  end
  if find(text, "\0", 1, true) then refuse("`{…}` in a reference contains a NUL") end
  return text
end

local function refuseDots(text)
  if text == "." or text == ".." then
    refuse(format("a segment of a reference cannot be `%s`", text),
      "only the text of the program leads to another folder")
  end
end

-- Text that is one segment, or a piece of one. What follows a piece may complete an escape, so it has none.
local function encode(text, piece)
  if find(text, "%", 1, true) then
    text = piece and gsub(text, "%%", "%%25") or gsub(text, ESCAPE, escaped)
  end
  if find(text, "/", 1, true) then text = gsub(text, "/", "%%2F") end
  if find(text, "?", 1, true) then text = gsub(text, "?", "%%3F") end
  return text
end

local MEANT = { ["2F"] = "/", ["2f"] = "/", ["3F"] = "?", ["3f"] = "?", ["25"] = "%" }
-- The text that a segment stands for.
function K.decodeSegment(segment)
  if not find(segment, "%", 1, true) then return segment end
  return (gsub(segment, ESCAPE, MEANT))
end
-- The segment of a text for stores, which know where a path ends: a question mark stays.
function K.encodeSegment(text)
  if find(text, "%", 1, true) then text = gsub(text, ESCAPE, escaped) end
  if find(text, "/", 1, true) then text = gsub(text, "/", "%%2F") end
  return text
end

-- Commands take an argument with a dash in front as an option. An argument from a value is marked, and
-- the store of commands refuses it unless a literal `--` stands before it.
local function isCommand(scheme)
  if scheme == "sh" then return true end
  local store = scheme and K.schemes[scheme]
  return type(store) == "table" and (store == K.schemes.sh or rawget(store, "_commands") == true)
end
local function marked(text, scheme)
  if byte(text) == 45 and isCommand(scheme) then return "%2D" .. sub(text, 2) end
  return text
end

-- `{…}` that begins a segment; a `piece` has more of the same segment behind it.
function K.segment(value, scheme, piece)
  local text = textOf(value)
  refuseDots(text)
  return marked(encode(text, piece), scheme)
end

-- `{…}` behind other text of the same segment.
function K.piece(value, ends)
  local text = textOf(value)
  refuseDots(text)
  return encode(text, not ends)
end

-- Another server undoes the escapes of what it is sent: dots behind an escaped slash would lead away there, and
-- a route of the program has compared other segments than the server will.
local function refuseEscapes(segment, scheme)
  local plain = gsub(segment, "%%2[eE]", ".")
  local slashes
  plain, slashes = gsub(gsub(plain, "%%2[fF]", "\\"), "\\", "/")
  for part in string.gmatch(plain .. "/", "([^/]*)/") do refuseDots(part) end
  if slashes > 0 and (scheme == "http" or scheme == "https") then
    refuse(format("`{*…}` in an address has an escaped slash or a backslash: `%s`", segment),
      "match one segment by `/:name`, and write it as `{name}`")
  end
end

-- `{*…}`: a path, written as in a program. A slash before it changes nothing, one at its end names a folder.
function K.segments(value, scheme)
  local text = textOf(value)
  if find(text, "%00", 1, true) then refuse("`{*…}` in a reference contains a NUL") end
  if find(text, "?", 1, true) then text = gsub(text, "?", "%%3F") end
  local segments, n = {}, 0
  if byte(text) == 47 then text = sub(text, 2) end
  local path = sub(text, -1) == "/" and sub(text, 1, -2) or text
  for segment in string.gmatch(path .. "/", "([^/]*)/") do
    if segment == "" then
      refuse(format("`{*…}` in a reference has an empty segment: `%s`", text), "write one slash between two segments")
    end
    if find(segment, "[%%\\]") then refuseEscapes(segment, scheme) else refuseDots(segment) end
    n = n + 1
    segments[n] = marked(segment, scheme)
  end
  return table.concat(segments, "/") .. (path ~= text and "/" or "")
end

-- `{…}` right behind the scheme: the beginning of the reference as a program would write it. Names of
-- files are taken as they are.
function K.wholePath(value, scheme, more)
  local text = textOf(value)
  if scheme == "file" then return (gsub(gsub(text, ESCAPE, escaped), "?", "%%3F")) end
  if more and find(text, "?", 1, true) then
    refuse("nothing can follow `{…}` with a query in it",
      "put the query at the end of the reference: `…?name={value}`")
  end
  if isCommand(scheme) then
    return (gsub(text, "/%-", "/%%2D"))
  end
  return text
end

-- `{…}` behind a `?`: one value of a parameter.
local function hex(character) return format("%%%02X", byte(character)) end
local function percent(text) return (gsub(text, "[^%w%-%._~]", hex)) end
function K.parameter(value, scheme)
  if value == nil or value == K.NULL then textOf(value) end
  local text = str(value)
  local command = isCommand(scheme)
  -- A parameter may be empty, an argument would be left out.
  if text == "" and not command then return "" end
  text = percent(textOf(text))
  return command and marked(text, scheme) or text
end

-- `{*…}` behind a `?`: parameters, already encoded.
function K.parameters(value, scheme)
  local text = gsub(textOf(value), "[%c%s#]", hex)
  if isCommand(scheme) then text = gsub(marked(text, scheme), "&%-", "&%%2D") end
  return text
end

-- `{…}` in an authority.
local HOST, SIX, PORT = "^[%w_][%w_%.%-]*$", "^%[[%x:%.]+%]$", "^%d+$"
local function isHost(text) return find(text, HOST) or find(text, SIX) end
local allowed = {
  port = function(text) return find(text, PORT) end,
  host = isHost,
  label = function(text) return find(text, "^[%w_%.%-]+$") end,
  authority = function(text)
    if isHost(text) then return true end
    local host, port = match(text, "^(.*):(%d+)$")
    return port and isHost(host)
  end,
}
local NAMED = { port = "a port", host = "a host", label = "a part of a host", authority = "a host and a port" }
function K.authority(value, kind)
  local text = textOf(value)
  if kind == "user" then return percent(text) end
  if not allowed[kind](text) then
    refuse(format("`{…}` in an address is %s, and cannot contain other characters", NAMED[kind]),
      "write what else belongs to the address into the program")
  end
  return text
end
