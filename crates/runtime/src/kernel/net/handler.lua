-- What handlers declare: the parameters and the content that they take, who may ask, what they answer. The
-- compiler calls these functions around the body of a handler that declares anything.
local K = ...
local type, unpack = type, unpack
local native, throw = K.native, K.throw

-- Parameters --------------------------------------------------------------------------------------

local PLACES = { query = "query parameter", header = "header", cookie = "cookie" }

local function shown(text)
  if #text > 80 then text = string.sub(text, 1, 77) .. "…" end
  return "'" .. text .. "'"
end

-- The value of one parameter, or nil and what is wrong. Forms send a field that nobody has filled in as an
-- empty text.
local function valueOf(parameter, text)
  if text == nil or text == "" and not parameter.isText and parameter.place == "query" then
    if parameter.default ~= nil then return parameter.default end
    if parameter.optional then return nil end
    return nil, string.format("the %s %s is missing; it is %s", PLACES[parameter.place], parameter.name, parameter.words)
  end
  local value
  if K.isUtf8(text) then value = parameter.read(text) end
  if value ~= nil then return value end
  return nil, string.format("the %s %s is %s, not %s", PLACES[parameter.place], parameter.name, parameter.words,
    shown(text))
end

-- Kinds whose values contain no comma: a list of them may stand in one query parameter.
local SEPARABLE = { int = true, float = true, decimal = true, bool = true, date = true, moment = true, time = true,
  uuid = true }

local function separated(texts)
  local all = {}
  for i = 1, #texts do
    local parts = K.split(texts[i], ",")
    for j = 1, #parts do all[#all + 1] = parts[j] end
  end
  return all
end

-- The same for a parameter that may be repeated.
local function valuesOf(parameter, texts)
  if texts == nil then
    if parameter.optional or parameter.default ~= nil then return parameter.default end
    texts = {}
  end
  if parameter.element.isSeparable then texts = separated(texts) end
  local values = {}
  for i = 1, #texts do
    local value, wrong = valueOf(parameter.element, texts[i])
    if wrong then return nil, wrong end
    values[i] = value
  end
  local list = K.array(values)
  if parameter.admit(list) ~= nil then return list end
  return nil, string.format("the %s %s is %s, not %d", PLACES[parameter.place], parameter.name, parameter.words, #values)
end

-- A parameter ready to be read: { name, place, type, default }.
local function prepared(declared)
  local kind = K.typeOf(declared.type or "string")
  local parameter = { name = declared.name, place = declared.place, type = kind, optional = kind.optional,
    words = K.typeWords(kind), about = declared.about }
  if kind.kind == "list" then
    local element = kind.element or K.typeOf("string")
    parameter.admit = K.admitter(kind)
    parameter.element = { name = declared.name, place = declared.place, read = K.textReader(element),
      words = K.typeWords(element), isText = element.kind == "string", isSeparable = SEPARABLE[element.kind] }
  else
    parameter.read, parameter.isText = K.textReader(kind), kind.kind == "string" or kind.kind == "enum"
  end
  if declared.default ~= nil then
    local texts = parameter.element and { declared.default } or declared.default
    local value, wrong = (parameter.element and valuesOf or valueOf)(parameter, texts)
    if wrong then throw("typeError", "the value of a parameter does not fit it: " .. wrong) end
    parameter.default, parameter.defaultText = value, declared.default
  end
  return parameter
end

local function fromRequest(place, name)
  local text = native.exchange(place, name)
  return text
end

-- The elements of a list in a header or a cookie (RFC 9110 section 5.6.1); nil without one.
local function elementsOf(text)
  if text == nil or text == "" then return text and {} end
  return K.split((string.gsub(text, "%s*,%s*", ",")), ",")
end

-- The function that reads the parameters of a handler: from a reference, and from the request that is
-- answered. Answers what is wrong, or nil, and the values.
function K.requestParameters(declared)
  local list, wanted, lists, asks = {}, {}, {}, false
  for i = 1, #declared do
    local parameter = prepared(declared[i])
    list[i] = parameter
    if parameter.place == "query" then
      wanted[parameter.name], asks = true, true
      if parameter.element then lists[parameter.name] = true end
    end
  end
  local count = #list
  local function read(reference)
    local texts
    if asks then
      local _, query = K.splitPath(K.pathOf(reference))
      texts = K.queryTexts(query, wanted, lists)
    end
    local values, problems = {}, nil
    for i = 1, count do
      local parameter = list[i]
      local value, wrong
      if parameter.place == "query" then
        if parameter.element then
          value, wrong = valuesOf(parameter, texts[parameter.name])
        else
          value, wrong = valueOf(parameter, texts[parameter.name])
        end
      elseif parameter.element then
        value, wrong = valuesOf(parameter, elementsOf(fromRequest(parameter.place, parameter.name)))
      else
        value, wrong = valueOf(parameter, fromRequest(parameter.place, parameter.name))
      end
      if wrong then
        problems = problems or {}
        problems[#problems + 1] = { "/" .. parameter.name, wrong }
      end
      values[i] = value
    end
    return problems, unpack(values, 1, count)
  end
  return read
end

-- Content -----------------------------------------------------------------------------------------

local FORMS = { ["application/x-www-form-urlencoded"] = true, ["multipart/form-data"] = true }

-- How the client wrote the content: "json", "form", or nil for what cannot be read.
local function formOf(mediaType)
  if mediaType == nil or mediaType == "" then return "json" end
  local kind = string.lower(string.match(mediaType, "^%s*([^;%s]*)"))
  if kind == "application/json" or string.sub(kind, -5) == "+json" then return "json" end
  if FORMS[kind] then return "form" end
  return nil
end

local function unreadable()
  throw("unsupported", "the content is expected as application/json or as a form", { _side = "request" })
end

-- A form. `curl -d '{…}'` sends JSON under the media type of forms, so that a field has all of it as its name.
local function formContent()
  local form = K.formOfProgram(native.exchange("form", ""))
  local names = K.keysOf(form)
  if names[1] ~= nil and string.find(K.str(names[1]), "^%s*[{[]") then
    throw("unsupported", "JSON is expected as Content-Type: application/json, not as a form", { _side = "request" })
  end
  return form
end

-- What the client sent, as plain data; content that a converter has parsed is that already.
local function dataOf(value)
  if type(value) == "table" and not value._isData and not value._isText then return value end
  if #(type(value) == "table" and K.bytesOf(value, "content") or value) == 0 then return nil end
  local form = formOf(native.exchange("header", "content-type"))
  if form == "form" then return formContent(), true end
  if form ~= "json" then unreadable() end
  if type(value) == "table" then value = value._isData and K.bytesOf(value, "content") or value:_string() end
  return value
end

local USES = { post = "create", put = "replace", merge = "change" }

-- What stands in the one member of an object that a client sent.
local function memberOf(data, name)
  if type(data) == "string" then data = K.parseJSON(data) end
  if type(data) ~= "table" or not data._isDictionary then
    K.refuseProblems { { "", "the content is an object with the field " .. name } }
  end
  local problems = {}
  for _, key in ipairs(K.keysOf(data)) do
    if key ~= name then problems[#problems + 1] = { "/" .. K.str(key), "there is no field " .. shown(K.str(key)) } end
  end
  local value = data:at_(name)
  if value == nil then problems[#problems + 1] = { "/" .. name, name .. " is required" } end
  if #problems > 0 then K.refuseProblems(problems) end
  return value
end

-- Runs a check of what stands in a member: its problems point there.
local function inMember(name, check)
  local ok, answer = K.try(check)
  if ok then return answer end
  local fields = type(answer) == "table" and rawget(answer, "i_fields")
  for i = 1, fields and #fields or 0 do
    fields[i]:at_put_("pointer", "/" .. name .. fields[i]:at_("pointer"))
  end
  error(answer, 0)
end

-- The answer of a handler in an object with one member.
function K.enveloped(answer, name)
  if answer == nil then return nil end
  return K.recordOf { name, answer }
end

-- The function that answers what a handler gets for what a client sent, or raises everything that is wrong.
-- With a member, the content stands in an object that has nothing else.
function K.contentReader(declared, verb, member)
  local kind = K.typeOf(declared)
  local isClass = kind.kind == "class"
  local contract, reader, made
  local function prepare()
    local class = isClass and K.valueClass(kind.name)
    if isClass and not class then
      throw("unknownClass", string.format("there is no class `%s`, which a handler takes", kind.name))
    end
    local options = { strict = true }
    -- An optional object may be null.
    contract = native.contract(K.contractOf(not kind.optional and class or kind, options))
    if verb == "merge" then return end
    reader = K.dataReader(kind, function(of, data) return K.instantiate(data, of._name) end)
    -- Usually the instance is made at once.
    made = reader and class and class._name
  end
  local function absent()
    if kind.optional then return nil end
    if member then K.refuseProblems { { "/" .. member, member .. " is required" } } end
    throw("unprocessable", "the content is missing; it is " .. K.typeWords(kind), { _side = "request" })
  end
  local function read(value)
    if not contract then prepare() end
    if type(value) == "table" and isClass and not value._isDictionary and K.isKind(value, K.valueClass(kind.name)) then
      return value
    end
    if value == nil then return absent() end
    local data, isForm = dataOf(value)
    if data == nil or data == "" then return absent() end
    local held
    if member then
      if isForm then unreadable() end
      data = memberOf(data, member)
      held = inMember(member, function()
        return native.obeyContract(contract, data, USES[verb] or "create", false, made)
      end)
    else
      held = native.obeyContract(contract, data, USES[verb] or "create", isForm or false, made)
    end
    if held == nil then return nil end
    if reader then held = reader(held) end
    if type(held) == "table" and not K.isClass(held) then K.admitSent(held) end
    return held
  end
  K.followsClasses(read, function() contract = nil end)
  return read
end

-- Who may ----------------------------------------------------------------------------------------

local passGuard = K.passGuard

-- Refuses what a guard refuses: nil is an unknown user, false a user without the right.
-- With the name of what was found: a user without the right to it.
function K.guarded(value, name)
  -- What a guard let in, no layer gives to others.
  native.exchange("asks-visitor", "guard")
  if value == nil then throw("unauthorized", "log in first", { _side = "request", _logInPage = K.pageToLogIn() }) end
  if value == false then
    throw("denied", name and "you may not do this to the " .. name or "you may not do this", { _side = "request" })
  end
  passGuard()
  return value
end

-- What `find name { … }` looks for.
function K.found(value, name)
  if value == nil then throw("notFound", "there is no such " .. name, { _side = "request" }) end
  return value
end

-- Answers ----------------------------------------------------------------------------------------

-- The status that a handler declares first, where a client asks.
function K.usualStatus(status)
  if native.exchange("method", "") ~= nil then native.respond("status", status) end
end

-- The answer of a handler that declares 204: nothing, whatever its last statement gave.
function K.withoutContent() return nil end

-- Runs what follows a handler, also after a failure.
function K.afterwards(body, after)
  local ok, answer = K.try(body)
  after(ok and answer or nil)
  if not ok then error(answer, 0) end
  return answer
end

-- The functions of the program in those of `dataOrPage`.
local written = setmetatable({}, { __mode = "k" })

-- The function that answers data or a page, as the client prefers.
function K.dataOrPage(data, page)
  local function either(...)
    if native.exchange("method", "") ~= nil then native.respond("vary", "accept") end
    if native.prefersPage() then return page(...) end
    return data(...)
  end
  written[either] = data
  return either
end

-- The function of the program that a handler calls.
function K.writtenBody(handler) return written[handler] or handler end

local function given(answer) return answer end

local function tagged(answer)
  native.tagAnswer()
  return answer
end

-- The function that complains of an answer that is not what its handler declares; in tests, and while a
-- program is developed. Elsewhere every answer is given as it is. Answers of `get` have entity tags.
function K.answerCheck(declared, place, isTagged)
  local give = isTagged and tagged or given
  if not native.checksAnswers() then return give end
  local kind = K.typeOf(declared)
  local admit
  return function(answer)
    if answer == nil then return answer end
    give(answer)
    if type(answer) == "table" then
      if K.isClass(answer) or answer._isRows or answer._isError or answer._path or answer._kind then return answer end
      -- What a dictionary holds is what clients get; it need not be an object of the class.
      if answer._isDictionary and kind.kind == "class" then return answer end
    end
    admit = admit or K.admitter(kind)
    if admit(answer) == nil then
      throw("typeError", string.format("%s declares that it answers %s, and answers %s", place, K.typeWords(kind),
        K.nameOf(answer)), { i_hint = "change the type behind `→`, or what the handler answers" })
    end
    return answer
  end
end

-- What a client may know where a store that the program asked refused: the kind, and the fields of a record that
-- it refused. Other errors of stores are faults of the program.
local REFUSED = {
  notFound = "not found", gone = "gone", denied = "denied", precondition = "precondition failed",
  conflict = "conflict", unprocessable = "unprocessable",
}
local OF_FIELDS = { conflict = true, unprocessable = true }
local function forClients(err)
  local side, kind = rawget(err, "_side"), K.str(err.i_kind)
  if side ~= "store" and side ~= "reference" then return err end
  if not REFUSED[kind] then return nil end
  return K.newError(kind, REFUSED[kind], { i_fields = OF_FIELDS[kind] and rawget(err, "i_fields") or nil })
end

-- Gives the block of `rescue` what a client did wrong; the program's own faults stay what they are.
function K.rescued(body, rescue)
  local ok, answer = K.try(body)
  if ok then return answer end
  if type(answer) == "table" and answer._isError then
    local status = answer.i_status or native.kindStatus(K.str(answer.i_kind))
    local told = status < 500 and forClients(answer)
    if told then
      if native.exchange("method", "") ~= nil then native.respond("status", status) end
      return rescue(told)
    end
  end
  error(answer, 0)
end
