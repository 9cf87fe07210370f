-- Rules of controls: what a browser would not have sent is refused.
--
-- They are those of HTML, section 4.10, for the attributes that were rendered (live/controls.lua). An event of a
-- disabled control does not run. A value that breaks a rule is not written, no block gets it, and no form with it is
-- submitted. The browser shows its own message in the field; ours are for clients that are none.
local K = ...
local type, tonumber, ipairs = type, tonumber, ipairs
local find, match, gsub, floor = string.find, string.match, string.gsub, math.floor
local live, setOf = K.live, K.setOfWords

-- Kinds of fields ------------------------------------------------------------------------------------------

local BUTTONS = setOf "submit button reset image"
-- Not written by events: a browser shows no field for them, or sends its content another way.
local UNWRITABLE = setOf "submit button reset image hidden file"
local TEXTS = setOf "text search tel url email password textarea"
local PATTERNS = setOf "text search tel url email password"
-- Fields of text that `required` is for; choices have their own rule.
local REQUIRED = setOf "text search tel url email password textarea number date month week time datetime-local"
local TYPES = setOf [[text search tel url email password number range date month week time datetime-local color checkbox
  radio hidden file submit button reset image]]

local function typeOf(control)
  if control.tag == "button" then return TYPES[control:attribute("type") or ""] and control:attribute("type") or "submit" end
  if control.tag ~= "input" then return control.tag end
  local kind = string.lower(control:attribute("type") or "text")
  return TYPES[kind] and kind or "text"
end

-- Measured values: numbers, and dates as numbers ------------------------------------------------------------

-- The number that a field has; nil if it has none.
function K.numberEntered(text)
  if type(text) == "number" then return text end
  local number = type(text) == "string" and tonumber((string.gsub(text, ",", ".")))
  -- What is beyond all numbers, or none, is no number of a user.
  if not number or number ~= number or number - number ~= 0 then return nil end
  return number
end

local DAYS = { 31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31 }
local function isLeap(year) return year % 4 == 0 and (year % 100 ~= 0 or year % 400 == 0) end

-- Days from 1970-01-01; nil for a date that there is not.
local function dayOf(year, month, day)
  year, month, day = tonumber(year), tonumber(month), tonumber(day)
  local length = DAYS[month]
  if not length or year == 0 then return nil end
  if month == 2 and isLeap(year) then length = 29 end
  if day < 1 or day > length then return nil end
  local y = month <= 2 and year - 1 or year
  local era = floor(y / 400)
  local ofEra, m = y - era * 400, (month + 9) % 12
  return era * 146097 + ofEra * 365 + floor(ofEra / 4) - floor(ofEra / 100) + floor((153 * m + 2) / 5) + day - 1 - 719468
end

local measures = {}
function measures.date(text)
  local year, month, day = match(text, "^(%d%d%d%d+)%-(%d%d)%-(%d%d)$")
  return year and dayOf(year, month, day)
end
function measures.month(text)
  local year, month = match(text, "^(%d%d%d%d+)%-(%d%d)$")
  return year and dayOf(year, month, 1) and year * 12 + month - 1970 * 12 - 1
end
-- The first week of a year has its 4 January (ISO 8601); weeks begin on Monday.
local function weekOf(year) return floor((dayOf(year, 1, 4) + 3) / 7) end
function measures.week(text)
  local year, week = match(text, "^(%d%d%d%d+)%-W(%d%d)$")
  year, week = tonumber(year), tonumber(week)
  if not year or year == 0 or week < 1 then return nil end
  local first = weekOf(year)
  return first + week - 1 < weekOf(year + 1) and first + week - 1 or nil
end
function measures.time(text)
  local hour, minute, rest = match(text, "^(%d%d):(%d%d)(.*)$")
  local second = rest == "" and 0 or rest and tonumber(match(rest, "^:(%d%d%.?%d*)$"))
  if not second or tonumber(hour) > 23 or tonumber(minute) > 59 or second >= 60 then return nil end
  return hour * 3600 + minute * 60 + second
end
measures["datetime-local"] = function(text)
  local day, time = match(text, "^([%d-]+)[T ](.*)$")
  day, time = day and measures.date(day), time and measures.time(time)
  return day and time and day * 86400 + time
end
function measures.number(text) return K.numberEntered(text) end
measures.range = measures.number

local function isOnStep(control, measure, value)
  local step, low = tonumber(control:attribute("step")), measure(control:attribute("min") or "")
  if not step or step <= 0 then return true end
  local steps = (value - (low or measure(control:attribute("value") or "") or 0)) / step
  return math.abs(steps - floor(steps + 0.5)) < 1e-6
end

local function measured(control, kind, text)
  local measure = measures[kind]
  local value = measure(text)
  if not value then return "is not a value of this field" end
  local low, high = measure(control:attribute("min") or ""), measure(control:attribute("max") or "")
  if kind == "range" then low, high = low or 0, high or 100 end
  -- A time may go over midnight: from 22:00 to 06:00.
  if kind == "time" and low and high and high < low then
    return value < low and value > high and "is outside of its range" or nil
  end
  if low and value < low then return "must be at least " .. (control:attribute("min") or low) end
  if high and value > high then return "must be at most " .. (control:attribute("max") or high) end
  if not isOnStep(control, measure, value) then return "is not on a step of " .. control:attribute("step") end
end

-- Texts ----------------------------------------------------------------------------------------------------

-- UTF-16 units, in which browsers count.
local function unitsOf(text)
  local _, continuing = gsub(text, "[\128-\191]", "")
  local _, pairs = gsub(text, "[\240-\247]", "")
  return #text - continuing + pairs
end

local function isEmail(text)
  local domain = match(text, "^[%w.!#$%%&'*+/=?^_`{|}~\128-\255-]+@([%w.\128-\255-]+)$")
  if not domain then return false end
  for label in string.gmatch(domain .. ".", "([^.]*)%.") do
    if label == "" or #label > 63 or find(label, "^%-") or find(label, "%-$") then return false end
  end
  return true
end

-- Classes of a browser are ASCII.
local ASCII = { d = "[0-9]", D = "[^0-9]", w = "[0-9A-Za-z_]", W = "[^0-9A-Za-z_]" }
-- Patterns come from the program: they are few.
local reported = {}
local function matches(pattern, text)
  local source = gsub(pattern, "\\(.)", ASCII)
  local ok, compiled = K.try(K.pattern, source)
  if ok then return K.native.patternMatches(compiled._compiled, text) end
  if not reported[pattern] then
    reported[pattern] = true
    K.reportError("`pattern` of a field cannot be checked, so its values are refused: ", compiled)
  end
  return false
end

local function isOne(control, kind, text)
  if kind == "email" and not isEmail(text) then return false, "is not an email address" end
  if kind == "url" and not find(text, "^%a[%w+.-]*:[^%s]+$") then return false, "is not a URL" end
  local pattern = PATTERNS[kind] and control:attribute("pattern")
  if pattern and not matches(pattern, text) then return false, control:attribute("title") or "does not have its format" end
  return true
end

local function textual(control, kind, text)
  -- What was shown from the start may have any length, until it is edited.
  if text ~= control:shown() then
    local length = unitsOf(text)
    local least, most = tonumber(control:attribute("minlength")), tonumber(control:attribute("maxlength"))
    if most and length > most then return "has more than " .. most .. " characters" end
    if least and length < least then return "has less than " .. least .. " characters" end
  end
  if kind == "textarea" then return nil end
  if find(text, "[\r\n]") then return "has more than one line" end
  if kind == "email" and control:attribute("multiple") then
    for one in string.gmatch(text .. ",", "%s*([^,]-)%s*,") do
      local ok, problem = isOne(control, kind, one)
      if not ok then return problem end
    end
    return nil
  end
  local _, problem = isOne(control, kind, text)
  return problem
end

-- The problem of the text of a field that has no choices; nil if there is none.
local function problemOf(control, kind, text)
  text = gsub(text, "\r\n?", kind == "textarea" and "\n" or "%0")
  if text == "" then
    return control:attribute("required") and REQUIRED[kind] and "must be filled in" or nil
  end
  if measures[kind] then return measured(control, kind, text) end
  if TEXTS[kind] then return textual(control, kind, text) end
end

-- Choices --------------------------------------------------------------------------------------------------

local function optionValue(option)
  local text = gsub(table.concat(option.texts), "%s+", " ")
  return option:attribute("value") or match(text, "^ ?(.-) ?$")
end

-- A disabled option is no choice.
local function isChoice(select, text)
  for _, option in ipairs(select.options) do
    local group = option.group
    local isFixed = option:attribute("disabled") or group and group:attribute("disabled")
    if not isFixed and optionValue(option) == text then return true end
  end
  return false
end

local NO_CHOICE = "is not one of the choices"

local function choiceProblem(select, text)
  if text == "" and select:attribute("required") then return "must be chosen" end
  if isChoice(select, text) or text == "" and select:attribute("multiple") then return nil end
  return NO_CHOICE
end

-- Events of one control ------------------------------------------------------------------------------------

local DISABLED = "is disabled"

-- Whether its form says that a browser sends it unchecked.
local function isUnchecked(view, form)
  if not form then return false end
  if form:attribute("novalidate") then return true end
  for _, control in ipairs(live.controlsOf(view, form)) do
    if control:attribute("formnovalidate") and BUTTONS[typeOf(control)] then return true end
  end
  return false
end

-- Checkboxes and radio buttons: whether they are on, or their own value.
local function switchProblem(control, slot, value)
  local own = control:attribute("value") or "on"
  if slot.field == "boolean" or type(value) == "boolean" then
    local isOn = value == true or value == "on" or value == "true" or value == own
    if not isOn and control:attribute("required") then return "must be chosen" end
    return not isOn and value ~= false and value ~= "false" and NO_CHOICE or nil
  end
  return value ~= nil and value ~= own and NO_CHOICE or nil
end

local function isReadonly(control, kind)
  return (TEXTS[kind] or measures[kind] and kind ~= "range") and control:attribute("readonly") ~= nil
end

-- The problem of a value that an event of a field has, the value that counts, and whether it was typed.
local function valueProblem(view, control, slot, name, value)
  local kind = typeOf(control)
  local writes = name == "input" or name == "change"
  if kind == "hidden" or writes and BUTTONS[kind] or slot.field and UNWRITABLE[kind] then return "cannot be written" end
  if BUTTONS[kind] then return nil, control.tag == "input" and control:shown() or nil end
  if isReadonly(control, kind) or slot.field and control:attribute("readonly") then
    return writes and "is read-only" or nil, control:shown()
  end
  if kind == "file" then return nil, value end
  if kind == "checkbox" or kind == "radio" then return switchProblem(control, slot, value), value end
  if value == nil and not slot.field then return nil end
  if type(value) ~= "string" then return "is not a value of this field" end
  if kind == "select" then return choiceProblem(control, value), value end
  local problem = problemOf(control, kind, value)
  if problem and isUnchecked(view, control.form) then problem = nil end
  return problem, value, true
end

-- Submissions ----------------------------------------------------------------------------------------------

-- Takes the next value of a control from those of its name: the problem, if there is one.
local function takeNext(control, kind, values, checks)
  local value = values[values.taken + 1]
  local function take()
    values.taken = values.taken + 1
  end
  if kind == "checkbox" or kind == "radio" or BUTTONS[kind] then
    -- One of the buttons of a group is on.
    local isOwn = value == (control:attribute("value") or not BUTTONS[kind] and "on" or "")
    if isOwn and not (kind == "radio" and values.isChosen) then
      values.isChosen = kind == "radio"
      take()
    elseif kind == "checkbox" and checks and control:attribute("required") then
      return "must be chosen"
    end
  elseif kind == "select" then
    while value ~= nil and isChoice(control, value) do
      take()
      if not control:attribute("multiple") then break end
      value = values[values.taken + 1]
    end
    if checks and control:attribute("required") and (values[values.taken] or "") == "" then return "must be chosen" end
  elseif kind == "file" then
    values.taken = #values
  elseif type(value) == "string" then
    take()
    return checks and kind ~= "hidden" and problemOf(control, kind, value) or nil
  elseif value == nil and checks then
    return problemOf(control, kind, "")
  end
end

local function listOf(value)
  local list = { taken = 0 }
  if type(value) == "table" and not K.isClass(value) and value._isArray then
    for i = 1, #value do list[i] = value[i] end
  else
    list[1] = value
  end
  return list
end

-- A field without a name is bound to a variable, or its text goes nowhere.
local function boundProblem(control, kind)
  local slot = control:fieldSlot("value") or control:fieldSlot("checked") or control:fieldSlot(".text")
  if not slot or UNWRITABLE[kind] or isReadonly(control, kind) then return nil end
  local value = K.slotValue(slot.value)
  if slot.field == "boolean" then
    return (value == nil or value == false) and control:attribute("required") and kind == "checkbox" and "must be chosen" or nil
  end
  if value == nil or value == K.NULL then value = "" end
  if kind == "select" then return control:attribute("required") and value == "" and "must be chosen" or nil end
  return problemOf(control, kind, K.str(value))
end

-- A client leaves out names that begin like our own.
local function isEntered(name, given)
  return name ~= nil and name ~= "" and (string.byte(name) ~= 95 or given:at_(name) ~= nil)
end

-- The groups of radio buttons of which one must be chosen.
local function radioProblem(required, byName)
  for name in pairs(required) do
    if not byName[name].isChosen then return "must be chosen", name end
  end
end

-- A form as its browser would send it: the problem, or the fields. Names that no enabled control has are left out.
local function submission(view, form, given, isSubmit)
  local keys, map, byName, required = {}, {}, {}, {}
  local checks = isSubmit and not isUnchecked(view, form)
  for _, control in ipairs(live.controlsOf(view, form)) do
    local name, kind, problem = control:attribute("name"), typeOf(control), nil
    if control:isDisabled() then
      name = nil
    elseif isEntered(name, given) then
      if not byName[name] then
        byName[name] = listOf(given:at_(name))
        keys[#keys + 1], map[name] = name, given:at_(name)
      end
      if kind == "radio" and checks and control:attribute("required") then required[name] = true end
      problem = takeNext(control, kind, byName[name], checks and not isReadonly(control, kind))
    elseif checks then
      problem = boundProblem(control, kind)
    end
    if problem then return problem, nil, name or typeOf(control) end
  end
  for name, values in pairs(byName) do
    if values[values.taken + 1] ~= nil then return NO_CHOICE, nil, name end
  end
  local problem, name = radioProblem(required, byName)
  if problem then return problem, nil, name end
  local sent, n = {}, 0
  for _, key in ipairs(keys) do
    if map[key] ~= nil then
      n = n + 1
      sent[n] = key
    end
  end
  return nil, K.dictionary(sent, map, n)
end

-- Events ---------------------------------------------------------------------------------------------------

local function named(control, problem)
  return (control:attribute("name") or "this " .. (control.tag == "button" and "button" or "field")) .. " " .. problem
end

-- Asks the rules for an event of a slot: what is wrong, or nil; the value that counts; whether it was typed.
function live.admit(view, slot, name, value)
  if value == nil and name ~= "submit" and slot.kind == "event" and not live.mayBeDisabled(view, slot) then return nil end
  local control = live.controlOf(view, slot)
  if not control then return slot.field and "this field " .. DISABLED or nil, value end
  if control:isDisabled() then return named(control, DISABLED) end
  if control.tag == "form" then
    local isGiven = type(value) == "table" and not K.isClass(value) and value._isDictionary
    if not isGiven then return name == "submit" and "the form has no fields" or nil, value end
    local problem, fields, field = submission(view, control, value, name == "submit")
    return problem and field .. " " .. problem, fields
  end
  -- A key, what is dragged, and files are not values of the field.
  if find(name, "^key") or name == "drop" or name == "dragstart" or name == "upload" then return nil, value end
  local problem, counts, isTyped = valueProblem(view, control, slot, name, value)
  -- A focus and a click are not about the value.
  if problem and (name == "focus" or name == "click" or name == "dblclick") then return nil end
  return problem and named(control, problem), counts, isTyped
end

-- The value of an event that comes as a form; an error where no browser would have sent it.
function K.expectAdmitted(view, slot, name, value)
  local problem, counts = live.admit(view, slot, name, value)
  if problem then
    K.throw("unprocessable", problem, { _side = "request" })
  end
  return counts
end
