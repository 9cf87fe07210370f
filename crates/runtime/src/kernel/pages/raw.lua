-- Markup with values: `#Raw[ "<b>{x}</b>" ]`. A value is escaped for the place between tags; elsewhere escaping is
-- not enough, so it is refused there.
local K = ...
local find, lower, match, sub, table = string.find, string.lower, string.match, string.sub, table
local throw = K.throw

-- Elements whose content cannot be escaped as text (HTML Living Standard, 13.1.2).
local code = {}
for name in string.gmatch("script style iframe xmp noembed noframes noscript plaintext", "%a+") do code[name] = true end

-- Where the place behind `<` at `i` ends, or nil with what it is.
local function behindTag(text, i)
  if sub(text, i, i + 3) == "<!--" then
    local _, to = find(text, "-->", i + 4, true)
    return to and to + 1, "a comment"
  end
  local quote
  for at = i + 1, #text do
    local char = sub(text, at, at)
    if quote then
      if char == quote then quote = nil end
    elseif char == '"' or char == "'" then
      quote = char
    elseif char == ">" then
      local name = lower(match(text, "^<(%a[^%s/>]*)", i) or "")
      if not code[name] then return at + 1 end
      local closing = find(lower(text), "</" .. name, at, true)
      return closing, "#" .. name
    end
  end
  return nil, "a tag"
end

-- What is open at the end of markup; nil between tags, where escaping is enough.
function K.openMarkupPlace(text)
  local at = 1
  while true do
    local from = find(text, "<[%a/!?]", at) or find(text, "<$", at)
    if not from then return nil end
    local place
    at, place = behindTag(text, from)
    if not at then return place end
  end
end

-- Values are escaped for the place between tags: in code they would not be.
function K.refuseFilled(raw, place)
  if not raw._filled then return raw._text end
  throw("invalid", "a `#Raw[ ]` with `{x}` is markup, not " .. place,
    { i_hint = "keep the value in `data: #{ … }`, or write it in `#script[ \"… {x} …\" ]`, where it is JSON" })
end
