-- Forms of classes: `#Form{ class: Article }` is a form with a field for each variable that a client may set.
-- What the class says of a variable becomes what the browser checks before it sends the form.
local K = ...
local type, ipairs = type, ipairs
local gsub, lower, upper, sub, find = string.gsub, string.lower, string.upper, string.sub, string.find
local put, putEscaped = K.put, K.putEscaped
local NULL = K.NULL

--- An HTML form with a field for each variable of a class that clients may set: `#Form{ class: Article }`.
local Form = K.newClass("Form", K.classes.Object)
Form._plainName = true -- a program may have a class of this name
--- Form -<any> value
--- Form -<nothing> setValue:<any>value
--- The object whose values stand in the fields; nil for an empty form.
--- > #Form{ button: 'Search' } value ⇒ nil

--- Form -<any> action
--- Form -<nothing> setAction:<any>value
--- The path or reference that gets the form; nil for the present page.
--- > #Form{ action: '/search' } action ⇒ '/search'

--- Form -<String?> method
--- How the form is sent: `post` (also for nil) or `get`.
--- > #Form{ method: 'GET' } method ⇒ 'get'

--- Form -<any> button
--- Form -<nothing> setButton:<any>value
--- The label of the button; `Save` for nil.
--- > #Form{ button: 'Search' } button ⇒ 'Search'

--- Form -<Array?> fields
--- Form -<nothing> setFields:<Array>value
--- The names of the variables with a field, in order; nil for all that clients may set.
--- > #Form{ fields: [ 'title' ] } fields ⇒ [ 'title' ]

--- Form -<Dictionary?> labels
--- Form -<nothing> setLabels:<Dictionary>value
--- Labels by the names of variables; other fields are labelled by their names: `publishedAt` as `Published at`.
--- > #Form{ labels: #{ title: 'Headline' } } labels count ⇒ 1

--- Form -<Dictionary?> hidden
--- Form -<nothing> setHidden:<Dictionary>value
--- Names and values of hidden fields.
--- > #Form{ hidden: #{ page: 2 } } hidden count ⇒ 1

--- Form -<any> id
--- Form -<nothing> setId:<any>value
--- The `id` of the form, which tells several forms of a page apart.
--- > #Form{ id: 'search' } id ⇒ 'search'
for _, option in ipairs {
  "class", "value", "action", "method", "button", "fields", "labels", "hidden", "id",
} do K.ivar(Form, option) end
--- -<Class> class
--- The class of the form, Form: not the option `class`, which is the class of its fields.
--- > #Form{ button: 'Search' } class ⇒ Form
K.method(Form, "class", function(self) return K.classOf(self) end)

local LONG = 200 -- characters from which on a text gets several lines

--- -<nothing> setClass:<Class>class
--- Sets the class whose variables become fields, with what it says of them: types, limits, whether a value is required.
--- > #Form{ class: 7 } ⇒ error: `class` of a Form must be a class, not a Number (7)
K.method(Form, K.mangle("setClass:"), function(self, class)
  if not K.isClass(class) or not class._ivars then
    K.throw("typeError", "`class` of a Form must be a class, not " .. K.nameOf(class))
  end
  self.i_class = class
end)

local METHODS = { get = true, post = true }
--- -<nothing> setMethod:<String>method
--- Sets how the form is sent: `post` or `get`, in any case.
--- > #Form{ method: 'put' } ⇒ error: `method` of a Form is 'post' or 'get': browsers send no other
K.method(Form, K.mangle("setMethod:"), function(self, method)
  method = lower(K.str(method))
  if not METHODS[method] then
    K.throw("invalid", "`method` of a Form is 'post' or 'get': browsers send no other", { i_hint = "leave it out for 'post'" })
  end
  self.i_method = method
end)

-- Attributes ----------------------------------------------------------------------------------------------

local function attribute(buffer, name, value)
  if value == nil or value == NULL or value == false then return end
  put(buffer, " " .. name)
  if value == true then return end
  put(buffer, '="')
  putEscaped(buffer, K.str(value))
  put(buffer, '"')
end

-- `publishedAt` and `published_at` are `Published at`.
local function humanized(name)
  local words = lower(gsub(gsub(name, "_", " "), "(%l)(%u)", "%1 %2"))
  return upper(sub(words, 1, 1)) .. sub(words, 2)
end

local INPUTS = {
  int = "number", float = "number", decimal = "number", date = "date", moment = "datetime-local", time = "time",
  email = "email", url = "url", file = "file", image = "file", bytes = "file",
}
local FILES = { file = true, image = true, bytes = true }
-- The images that browsers show, as `<image>` admits them.
local IMAGES = "image/png,image/jpeg,image/gif,image/webp,image/avif"
local COMPLETED = { email = "email", username = "username", name = "name", tel = "tel", phone = "tel", url = "url" }

local function isPassword(name) return find(lower(name), "password", 1, true) ~= nil end

-- The value of a field as an input has it.
local function textOf(kind, value)
  if value == nil or value == NULL then return nil end
  if type(value) == "table" and value._isDate then
    if kind == "moment" then return gsub(gsub(K.str(value), " ", "T"), "Z$", "") end
    return sub(K.str(value), 1, 10)
  end
  return K.str(value)
end

-- What a field is made of ------------------------------------------------------------------------------------

local function describeInput(buffer, field)
  attribute(buffer, "id", field.id)
  attribute(buffer, "name", field.name)
  attribute(buffer, "required", field.required)
  if field.problem then
    put(buffer, ' aria-invalid="true"')
    attribute(buffer, "aria-describedby", field.id .. "-error")
  end
end

local function options(buffer, field, values, value)
  put(buffer, "<select")
  describeInput(buffer, field)
  put(buffer, ">")
  if field.optional or value == nil then put(buffer, '<option value=""></option>') end
  for _, text in ipairs(values) do
    put(buffer, "<option")
    attribute(buffer, "selected", value ~= nil and K.str(value) == text)
    put(buffer, ">")
    putEscaped(buffer, text)
    put(buffer, "</option>")
  end
  put(buffer, "</select>")
end

local function area(buffer, field, kind, value)
  put(buffer, '<textarea rows="8"')
  describeInput(buffer, field)
  attribute(buffer, "minlength", kind.min and kind.min > 0 and kind.min or nil)
  attribute(buffer, "maxlength", kind.max)
  -- A line break behind the tag is no part of the text (HTML Living Standard, section 13.2.6.4.7).
  put(buffer, ">\n")
  if value ~= nil then putEscaped(buffer, value) end
  put(buffer, "</textarea>")
end

-- A box that is not checked sends nothing: the field before it says false then.
local function checkbox(buffer, field, value)
  put(buffer, '<input type="hidden" value="false"')
  attribute(buffer, "name", field.name)
  put(buffer, '><input type="checkbox" value="true"')
  field.required = nil
  describeInput(buffer, field)
  local on = value == true or value == 1 or value == "true" or value == "on" or value == "1"
  attribute(buffer, "checked", on)
  put(buffer, ">")
end

local function input(buffer, field, kind, value)
  local isText = kind.kind == "string" or kind.kind == "email" or kind.kind == "url"
  local isNumber = kind.kind == "int" or kind.kind == "float" or kind.kind == "decimal"
  local secret = isPassword(field.name)
  put(buffer, "<input")
  attribute(buffer, "type", secret and "password" or INPUTS[kind.kind] or "text")
  describeInput(buffer, field)
  if isText then
    attribute(buffer, "minlength", kind.min and kind.min > 1 and kind.min or nil)
    attribute(buffer, "maxlength", kind.max)
    attribute(buffer, "pattern", kind.pattern)
  elseif isNumber then
    attribute(buffer, "min", kind.min)
    attribute(buffer, "max", kind.max)
    if kind.kind ~= "int" then put(buffer, ' step="any"') end
  end
  if kind.kind == "image" then attribute(buffer, "accept", IMAGES) end
  if secret then
    attribute(buffer, "autocomplete", field.isLogIn and "current-password" or "new-password")
  else
    attribute(buffer, "autocomplete", COMPLETED[field.name])
    if not FILES[kind.kind] then attribute(buffer, "value", value) end
  end
  put(buffer, ">")
end

local function control(buffer, field, kind, value)
  if kind.kind == "enum" then return options(buffer, field, kind.values, value) end
  if kind.kind == "bool" then return checkbox(buffer, field, value) end
  local long = kind.kind == "string" and (kind.max or 0) > LONG and not kind.pattern
  if kind.kind == "list" then
    K.throw("unsupported", "a Form has no field for the list `" .. field.name .. "`",
      { i_hint = "leave it out: `fields: [ … ]`, and write its inputs yourself" })
  end
  value = textOf(kind.kind, value)
  if long then return area(buffer, field, kind, value) end
  input(buffer, field, kind, value)
end

local function writeField(buffer, field, kind, value)
  local isBox = kind.kind == "bool"
  put(buffer, isBox and '<div class="field box">' or '<div class="field">')
  if isBox then control(buffer, field, kind, value) end
  put(buffer, "<label")
  attribute(buffer, "for", field.id)
  put(buffer, ">")
  putEscaped(buffer, field.label)
  put(buffer, "</label>")
  if not isBox then control(buffer, field, kind, value) end
  if field.problem then
    put(buffer, '<p class="problem"')
    attribute(buffer, "id", field.id .. "-error")
    put(buffer, ">")
    putEscaped(buffer, field.problem)
    put(buffer, "</p>")
  end
  put(buffer, "</div>")
end

-- Problems as people read them ------------------------------------------------------------------------------

local ENTERED = {
  email = "Enter an e-mail address such as ada@example.org.", url = "Enter an address such as https://example.org/.",
  date = "Enter a date.", moment = "Enter a date and a time.", time = "Enter a time such as 17:45.",
  uuid = "Enter an identifier of 36 characters.", file = "Choose a file.", bytes = "Choose a file.",
  image = "Choose an image: PNG, JPEG, GIF, WebP or AVIF.",
  enum = "Choose one of these.", bool = "Choose yes or no.",
}

local function between(min, max, unit)
  if min and max then return min .. " to " .. max .. unit end
  return (min and "at least " .. min or "at most " .. max) .. unit
end

-- What a type wants.
local function wanted(kind)
  local min, max = kind.min ~= nil and K.str(kind.min) or nil, kind.max ~= nil and K.str(kind.max) or nil
  if kind.kind == "int" or kind.kind == "float" or kind.kind == "decimal" then
    local number = kind.kind == "int" and "Enter a whole number" or "Enter a number"
    return number .. ((min or max) and ": " .. between(min, max, "") or "") .. "."
  end
  if kind.kind == "string" then
    if kind.pattern then return "This does not have the expected form." end
    if min or max then return "Use " .. between(min, max, " characters") .. "." end
  end
  if FILES[kind.kind] and max then
    local what = kind.kind == "image" and "an image (PNG, JPEG, GIF, WebP or AVIF)" or "a file"
    return "Choose " .. what .. " of at most " .. max .. " bytes."
  end
  return ENTERED[kind.kind] or "This does not fit."
end

local function sentence(text)
  text = upper(sub(text, 1, 1)) .. sub(text, 2)
  return find(text, "[.!?]$") and text or text .. "."
end

-- A problem of the check of a type is said anew; what the program says of a field stays.
local function forPeople(name, kind, problem, value)
  if problem == nil then return nil end
  local words = name .. " is "
  local type = gsub(K.typeWords(kind), " such as.*", "")
  local isType = problem == words .. "required" or sub(problem, 1, #words) == words
    and find(problem, type, #words + 1, true) == #words + 1
  if isType then return (value == nil or value == "") and kind.kind == "string" and "Fill this in." or wanted(kind) end
  local text = sub(problem, 1, #name + 1) == name .. " " and humanized(name) .. sub(problem, #name + 1) or problem
  return sentence(text)
end

-- The form ---------------------------------------------------------------------------------------------------

local function listOf(value)
  local list = {}
  for i = 1, value and #value or 0 do list[i] = K.str(value[i]) end
  return list
end

-- The variables that a client may set, in order.
local function namesOf(self, class)
  if self.i_fields ~= nil then return listOf(self.i_fields) end
  local names = {}
  for _, name in ipairs(K.columnsOfClass(class)) do
    local marks = class._marks and class._marks[name]
    if not (marks and marks.readonly) and name ~= "id" then names[#names + 1] = name end
  end
  return names
end

-- What stands in a field: what was sent, the value of the object, or the first value of the class.
local function valueOf(self, class, name, marks, state)
  if state and state.fields then
    local sent = state.fields:at_(name)
    if type(sent) == "table" and sent._isArray then sent = sent[#sent] end
    if type(sent) ~= "table" then return sent end
    return nil
  end
  if self.i_value ~= nil then return K.property(self.i_value, name) end
  if marks and marks.default and marks.constant then
    return K.defaultValue(class, { key = K.ivarKey(name), marks = marks }, nil)
  end
  return nil
end

local function hidden(buffer, name, value)
  put(buffer, '<input type="hidden"')
  attribute(buffer, "name", name)
  attribute(buffer, "value", value)
  put(buffer, ">")
end

local function writeFields(buffer, self, class, state)
  local labels = self.i_labels
  local names = namesOf(self, class)
  -- A form that asks for a name and a password alone is one to log in.
  local isLogIn = #names == 2
  for _, name in ipairs(names) do
    local marks = class._marks and class._marks[name]
    if not marks and not K.hasVariable(class, name) then
      K.throw("unknownProperty", class._name .. " has no variable `" .. name .. "` for a field of a Form")
    end
    local kind = marks and marks.type or { kind = "string" }
    local value = valueOf(self, class, name, marks, state)
    local isNeeded = marks and marks.required or marks and not kind.optional and marks.default == nil
    if kind.kind == "string" and (kind.min or 0) == 0 and not kind.pattern then isNeeded = false end
    local field = {
      name = name, id = (self.i_id and K.str(self.i_id) .. "-" or "") .. name, isLogIn = isLogIn,
      label = labels and labels:at_(name) or humanized(name), required = isNeeded,
      optional = kind.optional,
      problem = state and forPeople(name, kind, state.problems[name], value),
    }
    writeField(buffer, field, kind, value)
  end
end

local function hasFile(self, class)
  for _, name in ipairs(namesOf(self, class)) do
    local marks = class._marks and class._marks[name]
    if marks and FILES[marks.type.kind] then return true end
  end
  return false
end

local function written(self)
  local class, method = self.i_class, self.i_method or "post"
  local state = method == "post" and K.formState() or nil
  -- Of several forms on a page, what was refused belongs to the one with the same `id:`.
  if state and state.id ~= (self.i_id and K.str(self.i_id) or nil) then state = nil end
  local buffer = K.openMarkup()
  put(buffer, "<form")
  attribute(buffer, "class", class and "form" or "form inline")
  attribute(buffer, "id", self.i_id)
  attribute(buffer, "method", method)
  if self.i_action ~= nil then K.attribute(buffer, "action", self.i_action) end
  if class and hasFile(self, class) then put(buffer, ' enctype="multipart/form-data"') end
  put(buffer, ">")
  if method == "post" then
    local token = K.formToken()
    if token then hidden(buffer, K.formTokenField, token) end
    if self.i_id ~= nil then hidden(buffer, "_form", self.i_id) end
    if self.i_action ~= nil and class and K.pageAsked() then hidden(buffer, "_page", K.pageAsked()) end
  end
  if self.i_hidden ~= nil then
    self.i_hidden:keysAndValuesDo_(function(name, value) hidden(buffer, K.str(name), value) end)
  end
  if state then
    state.isShown = true
    if state.message then
      put(buffer, '<p class="message bad" role="alert">')
      putEscaped(buffer, sentence(state.message))
      put(buffer, "</p>")
    end
  end
  if class then writeFields(buffer, self, class, state) end
  -- `std:upload.js` shows it.
  if class and hasFile(self, class) then
    put(buffer, '<progress max="1" value="0" hidden aria-label="Progress of the upload"></progress>')
  end
  put(buffer, '<button type="submit">')
  putEscaped(buffer, self.i_button ~= nil and K.str(self.i_button) or "Save")
  put(buffer, "</button></form>")
  return K.closeMarkup(buffer)
end

K.methods(Form, {
  --- -<Element> asHtml
  --- -<Element> asHTML
  --- The form as an element, with a CSRF token for the session of the request, and after a refusal with what was sent
  --- and what is wrong with it.
  --- > #Form{ method: 'get', button: 'Find' } asHtml stringValue hasPrefix: '<form class="form inline"' ⇒ true
  ["asHtml"] = written,
  ["asHTML"] = written,
})
