-- Text for people: digits in groups, and indentation.
local K = ...
local type, find, match, sub, rep, reverse, gsub = type, string.find, string.match, string.sub, string.rep,
  string.reverse, string.gsub
local throw, expectText = K.throw, K.expectText

-- The digits of a printed number in groups of three.
local function grouped(text, separator)
  local sign, digits, rest = match(text, "^([-+]?)(%d+)(.*)$")
  if not digits then return text end
  local groups = gsub(reverse(digits), "(%d%d%d)", "%1\1")
  groups = gsub(reverse(groups), "^\1", "")
  return sign .. gsub(groups, "\1", (gsub(separator, "%%", "%%%%"))) .. rest
end

local function withSeparators(self, separator)
  local text = self:description()
  -- A number in scientific notation has no groups.
  if find(text, "e", 1, true) then return text end
  return grouped(text, separator == nil and "," or expectText(separator, "withSeparators:"))
end

local messages = {
  --- Number -<String> withSeparators
  --- String -<String> withSeparators
  --- BigInteger -<String> withSeparators
  --- Decimal -<String> withSeparators
  --- The number with a comma between groups of three digits before the point.
  --- > 1234567 withSeparators ⇒ '1,234,567'
  --- > (-1234.5 fixed: 2) withSeparators ⇒ '-1,234.50'
  ["withSeparators"] = withSeparators,
  --- Number -<String> withSeparators:<String>separator
  --- String -<String> withSeparators:<String>separator
  --- BigInteger -<String> withSeparators:<String>separator
  --- Decimal -<String> withSeparators:<String>separator
  --- The number with a text between groups of three digits before the point. `fixed:` says how many decimals there are.
  --- > 1234567 withSeparators: ' ' ⇒ '1 234 567'
  ["withSeparators:"] = withSeparators,
}
for _, name in ipairs { "Number", "BigInteger", "Decimal", "String" } do K.methods(K.classes[name], messages) end

-- The lines of a text, with what ends each.
local function dedented(text)
  local lines = K.lines(text)
  local from, to = 1, #lines
  if to > 0 and not find(lines[1], "%S") then from = 2 end
  if to >= from and not find(lines[to], "%S") then to = to - 1 end
  local least
  for i = from, to do
    if find(lines[i], "%S") then
      local indent = #match(lines[i], "^[ \t]*")
      if not least or indent < least then least = indent end
    end
  end
  local out = {}
  for i = from, to do
    local line = lines[i]
    out[#out + 1] = find(line, "%S") and sub(line, (least or 0) + 1) or ""
  end
  return K.joinTexts(out, #out, "\n")
end

local function indented(text, by)
  if type(by) == "number" then
    by = K.expectInteger(by, "indented:")
    if by < 0 or by > 1024 then throw("outOfRange", "indented: expects 0 to 1024 blanks, got " .. K.str(by)) end
    by = rep(" ", by)
  end
  by = expectText(by, "indented:")
  local lines = K.lines(text)
  for i = 1, #lines do
    if lines[i] ~= "" then lines[i] = by .. lines[i] end
  end
  return K.joinTexts(lines, #lines, "\n")
end

K.methods(K.classes.String, {
  --- -<String> dedented
  --- The text without the indentation that all its lines have in common, and without a blank first and last line, so
  --- that a text of several lines can stand indented in a program.
  --- > '\n    one\n      two\n  ' dedented ⇒ 'one\n  two'
  ["dedented"] = dedented,
  --- -<String> indented:<Number|String>indentation
  --- The text with a number of blanks, or a text, before each line that is not empty.
  --- > 'a\nb' indented: 2 ⇒ '  a\n  b'
  --- > 'a\nb' indented: '> ' ⇒ '> a\n> b'
  ["indented:"] = indented,
})
