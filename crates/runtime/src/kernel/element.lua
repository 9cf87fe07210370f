-- Elements: pages written as code. `#div{ class: 'x' }[ 'text', #br[] ]`.
--
-- Text and attribute values are escaped where they stand (HTML Living Standard, sections 13.1.2
-- and 13.3); `raw:` is the only way around. Void elements take no children.
local K = ...
local type, rawget, setmetatable = type, rawget, setmetatable
local throw = K.throw

local Element = K.newClass("Element", K.classes.Object)
K.nilKeys._tag, K.nilKeys._names, K.nilKeys._values, K.nilKeys._count = true, true, true, true
K.nilKeys._children, K.nilKeys._childCount = true, true
rawset(Element._methods, "_kind", 6)
local Raw = K.newClass("RawText", K.classes.Object)
K.nilKeys._text = true

local void = {}
for tag in string.gmatch(([[area base br col embed hr img input link meta source track wbr]]), "%a+") do void[tag] = true end
local rawText = { script = true, style = true }
local dangerous = { href = true, src = true, action = true, formaction = true, data = true }
-- Attributes whose values "true" and "false" are words, not presence.
local worded = { contenteditable = true, draggable = true, spellcheck = true, translate = true }

local escapes = { ["&"] = "&amp;", ["<"] = "&lt;", [">"] = "&gt;", ['"'] = "&quot;", ["'"] = "&#39;" }
local function escape(text)
  if not string.find(text, "[&<>\"']") then return text end
  return (string.gsub(text, "[&<>\"']", escapes))
end
K.escapeHTML = escape

-- An element with attribute names and values, and children.
function K.element(tag, names, values, count, children, childCount)
  if not string.find(tag, "^[%a][%w-]*$") then throw("invalid", string.format("`%s` is no name of an element", tag)) end
  if void[tag] and childCount and childCount > 0 then
    throw("invalid", string.format("`#%s` has no content", tag), { i_hint = "leave the brackets empty" })
  end
  return setmetatable({
    _tag = tag, _names = names, _values = values, _count = count or 0,
    _children = children, _childCount = childCount or 0,
  }, Element._methods)
end

local function words(value)
  if type(value) ~= "table" or not K.isKind(value, K.classes.Array) then return value end
  local list = {}
  for i = 1, #value do
    local item = value[i]
    if item ~= K.NULL and item ~= false and item ~= "" then list[#list + 1] = K.str(item) end
  end
  if #list == 0 then return nil end
  return table.concat(list, " ")
end

local function attribute(out, name, value)
  if value == nil or value == K.NULL then return end
  name = string.gsub(name, "_", "-")
  if not string.find(name, "^[%a:@][%w:.-]*$") then throw("invalid", string.format("`%s` is no name of an attribute", name)) end
  if type(value) == "table" and K.isKind(value, K.classes.Dictionary) then
    -- `data: #{ user: 1 }` is `data-user="1"`.
    value:keysAndValuesDo_(function(key, inner) attribute(out, name .. "-" .. K.str(key), inner) end)
    return
  end
  local isWord = worded[name] or string.find(name, "^aria%-")
  if value == false and not isWord then return end
  if value == true and not isWord then
    out[#out + 1] = " " .. name
    return
  end
  local raw = type(value) == "table" and K.isKind(value, Raw)
  local shown = raw and value._text or words(value)
  if shown == nil then return end
  local text = K.str(shown)
  if string.find(name, "^on") and not raw then
    throw("invalid", string.format("`%s` would run a text as code", name), { i_hint = "use `raw:` where that is meant" })
  end
  if dangerous[name] and not raw and string.find(string.gsub(string.lower(text), "[%c%s]", ""), "^javascript:") then
    throw("invalid", string.format("`%s` must not be a javascript: address", name))
  end
  out[#out + 1] = " " .. name .. '="' .. (raw and string.gsub(text, '"', "&quot;") or escape(text)) .. '"'
end

local render

local function renderChild(out, child, tag, depth)
  if child == nil or child == K.NULL or child == false or child == true then return end
  if type(child) == "string" then
    if rawText[tag] then
      if string.find(string.lower(child), "</" .. tag, 1, true) then
        throw("invalid", string.format("the text of `#%s` must not contain `</%s`", tag, tag))
      end
      out[#out + 1] = child
    else
      out[#out + 1] = escape(child)
    end
  elseif type(child) == "function" then
    renderChild(out, child(), tag, depth)
  elseif type(child) == "table" and rawget(child, "_tag") then
    render(out, child, depth + 1)
  elseif type(child) == "table" and K.isKind(child, Raw) then
    out[#out + 1] = child._text
  elseif type(child) == "table" and child.asElement and child:respondsToSelector_("asElement") then
    renderChild(out, child:asElement(), tag, depth + 1)
  elseif type(child) == "table" and child.do_ and child:respondsToSelector_("do:") then
    child:do_(function(inner) renderChild(out, inner, tag, depth + 1) end)
  else
    out[#out + 1] = escape(K.str(child))
  end
end

function render(out, element, depth)
  if depth > 200 then throw("invalid", "elements are nested more than 200 deep") end
  local tag = element._tag
  if tag == "html" then out[#out + 1] = "<!DOCTYPE html>" end
  if tag ~= "fragment" then
    out[#out + 1] = "<" .. tag
    for i = 1, element._count do attribute(out, element._names[i], element._values[i]) end
    out[#out + 1] = ">"
  end
  if void[tag] then return end
  for i = 1, element._childCount do renderChild(out, element._children[i], tag, depth) end
  if tag ~= "fragment" then out[#out + 1] = "</" .. tag .. ">" end
end

-- The text of an element.
function K.html(element)
  local out = {}
  render(out, element, 0)
  return table.concat(out)
end

K.methods(Element, {
  ["stringValue"] = K.html,
  ["description"] = K.html,
  ["asHTML"] = K.html,
  ["tag"] = function(self) return self._tag end,
})
K.classMethods(Raw, {
  ["text:"] = function(class, text) return setmetatable({ _text = K.str(text) }, class._methods) end,
})
K.methods(Raw, { ["stringValue"] = function(self) return self._text end, ["description"] = function(self) return self._text end })
K.methods(K.classes.Object, {
  -- `self raw: '<b>x</b>'`, `nil`-safe: markup that is already safe.
  ["raw:"] = function(_, text) return Raw:text_(text) end,
})
