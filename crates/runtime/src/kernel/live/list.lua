-- Live lists: `ref:tasks: collect: { :task | #li{ key: task id }[ task title ] }`. What is inserted,
-- deleted, moved or changed is sent alone.
local K = ...
local type, rawset, setmetatable = type, rawset, setmetatable
local find, sub, throw, put = string.find, string.sub, K.throw, K.put
local live = K.live

for _, key in ipairs { "_isLiveSource", "_isLiveItems" } do K.nilKeys[key] = true end

--- A list that follows a reference: its elements after `select:`, `sorted:` and others, for `collect:` in a page.
local LiveList = K.newClass("LiveList", K.classes.Object)
rawset(LiveList._methods, "_isLiveSource", true)
for _, key in ipairs { "_source", "_steps", "_writer" } do K.nilKeys[key] = true end
rawset(K.classes.Reference._methods, "_isLiveSource", true)

-- The elements of what a reference names, and the name of each where it has one.
local function elementsOf(reference)
  local value = reference:value()
  if type(value) == "table" and not K.isClass(value) then
    if value._isArray then return value end
    if value._isDictionary then
      local list, names, n = {}, {}, 0
      value:keysAndValuesDo_(function(key, one)
        n = n + 1
        list[n], names[n] = one, K.str(key)
      end)
      return K.array(list, n), names
    end
    if value._isCollection or K.understands(value, "do_") then
      local list = value:collect_(function(one) return one end)
      if type(list) == "table" and list._isArray then return list end
    end
  end
  local children = reference:children()
  if #children == 0 then
    if value == nil or value == "" then return K.array({}, 0) end
    throw("typeError", reference:stringValue() .. " holds no list but " .. K.nameOf(value),
      { i_hint = "`collect:` needs a reference to an array, to rows, or to something with children" })
  end
  local list, names = {}, {}
  for i = 1, #children do
    local one = children[i]:value()
    list[i], names[i] = one == nil and K.NULL or one, children[i]:name()
  end
  return K.array(list, #children), names
end

-- The elements after the steps, and their names, by position.
local function itemsOf(source)
  if source._isReference then return elementsOf(source) end
  local list, names = elementsOf(source._source)
  local nameOf = {}
  if names then
    for i = 1, #list do nameOf[list[i]] = names[i] end
  end
  for i = 1, #source._steps do list = source._steps[i](list) end
  names = {}
  for i = 1, #list do names[i] = nameOf[list[i]] end
  return list, names
end

local function referenceOf(source) return source._isReference and source or source._source end

local function with(source, step)
  local steps = {}
  for i, one in ipairs(source._steps or {}) do steps[i] = one end
  steps[#steps + 1] = step
  return setmetatable({ _source = referenceOf(source), _steps = steps }, LiveList._methods)
end

--- The items of a page that follow a list: what is inserted, deleted, moved or changed is sent alone.
local LiveItems = K.newClass("LiveItems", K.classes.Object)
rawset(LiveItems._methods, "_isLiveItems", true)

local messages = {
  --- LiveList -<LiveItems> collect:<Block(each)|String>block
  --- Reference -<LiveItems> collect:<Block(each)|String>block
  --- What a page shows of each element, as the block answers it; a text is the name of a property. The page follows the
  --- list, which is an array, rows, a dictionary, or the children of the reference.
  --- > items := [ 'tea' ]. #ul[ ref:var:items collect: { :one | #li[ one ] } ] stringValue ⇒ '<ul><li>tea</li></ul>'
  ["collect:"] = function(self, block)
    block = K.asBlock(block, "collect:")
    return setmetatable({ _source = self, _writer = function(buffer, one) K.child(buffer, block(one)) end },
      LiveItems._methods)
  end,
  --- LiveList -<LiveList> select:<Block(each)|String>block
  --- Reference -<LiveList> select:<Block(each)|String>block
  --- The elements for which the block answers true, followed.
  --- > n := [ 1, 2 ]. #p[ (ref:var:n select: { :x | x > 1 }) collect: { :x | #b[ x ] }] stringValue ⇒ '<p><b>2</b></p>'
  ["select:"] = function(self, block) return with(self, function(list) return list:select_(block) end) end,
  --- LiveList -<LiveList> reject:<Block(each)|String>block
  --- Reference -<LiveList> reject:<Block(each)|String>block
  --- The elements for which the block answers false, followed.
  --- > n := [ 1, 2 ]. #p[ (ref:var:n reject: { :x | x > 1 }) collect: { :x | #b[ x ] }] stringValue ⇒ '<p><b>1</b></p>'
  ["reject:"] = function(self, block) return with(self, function(list) return list:reject_(block) end) end,
  --- LiveList -<LiveList> sorted:<any>order
  --- Reference -<LiveList> sorted:<any>order
  --- The elements in an order, as `sorted:` of an array, followed.
  --- > { :tasks | #ul[ (tasks sorted: { :a :b | a date < b date }) collect: { :task | #li[ task title ] } ] }
  ["sorted:"] = function(self, block) return with(self, function(list) return list:sorted_(block) end) end,
  --- LiveList -<LiveList> reversed
  --- Reference -<LiveList> reversed
  --- The elements in the opposite order, followed.
  --- > n := [ 1, 2 ]. #p[ ref:var:n reversed collect: { :x | #b[ x ] } ] stringValue ⇒ '<p><b>2</b><b>1</b></p>'
  ["reversed"] = function(self) return with(self, function(list) return list:reversed() end) end,
}
K.methods(LiveList, messages)
K.methods(LiveList, {
  --- -<Element> asHtml
  --- The elements as a page shows each, followed. `collect:` says how they look.
  --- > items := [ 'tea', 'milk' ]. ref:var:items reversed asHtml stringValue ⇒ 'milktea'
  ["asHtml"] = function(self)
    return self:collect_(function(one) return one end):asHtml()
  end,
})
K.methods(K.classes.Reference, messages)
K.methods(LiveItems, {
  --- -<Element> asHtml
  --- The items as an element of a page.
  --- > items := [ 'tea' ]. (ref:var:items collect: { :one | #li[ one ] }) asHtml stringValue ⇒ '<li>tea</li>'
  ["asHtml"] = function(self)
    local buffer = K.openMarkup()
    live.items(buffer, self._source, self._writer)
    return K.closeMarkup(buffer)
  end,
})

-- Writing -----------------------------------------------------------------------------------------------

-- What names an item: its `key:`, its name in the store, its `id`, else its position.
local function keyOf(given, name, item, position)
  if given ~= nil then return K.str(given) end
  if name ~= nil then return name end
  if type(item) == "table" and not K.isClass(item) then
    local id = item._isDictionary and item._map.id or item.i_id
    if id ~= nil then return K.str(id) end
  end
  return "#" .. position
end

-- The markup of an item, without the number of its element, and its key.
local function itemText(page, write, item, scope, address)
  local inner = K.newLivePart(scope)
  inner.form, inner.total, inner.address = page.form, page.total, address
  local text, key = K.livePart(inner, function(buffer) write(buffer, item) end)
  page.total = inner.total
  return text, key
end

local function numbered(text, id)
  local _, last = find(text, "^<%a[%w-]*")
  if not last then
    throw("invalid", "an item of a live list is one element, such as `#li[ … ]`")
  end
  return sub(text, 1, last) .. ' data-k="' .. id .. '"' .. sub(text, last + 1)
end

local function itemAt(list, i)
  local item = list[i]
  if rawequal(item, K.NULL) then return nil end
  return item
end

-- All items anew, for a view: in order, and by key.
local function renderItems(slot, page)
  local list, names = itemsOf(slot.source)
  local items, byKey = {}, {}
  for i = 1, #list do
    local item = itemAt(list, i)
    local scope = slot:newScope()
    local text, key = itemText(page, slot.write, item, scope, "")
    key = keyOf(key, names and names[i], item, i)
    if byKey[key] then
      throw("invalid", "two items of a live list have the key " .. key, { i_hint = "give each a `key:` of its own" })
    end
    local one = { key = key, text = text, scope = scope }
    scope.item = one
    items[i], byKey[key] = one, one
  end
  return items, byKey
end

local function fill(buffer, slot)
  local page = buffer.page
  if slot.view then
    local items, byKey = slot:tracked(function() return renderItems(slot, page) end)
    for i = 1, #items do
      items[i].id = i
      put(buffer, numbered(items[i].text, i))
    end
    slot.items, slot.byKey, slot.lastId = items, byKey, #items
    return
  end
  local list = itemsOf(slot.source)
  for i = 1, #list do
    put(buffer, numbered(itemText(page, slot.write, itemAt(list, i), nil, page.address .. i .. "."), i))
  end
end

local function items(buffer, source, write)
  if not buffer.page then
    local list = itemsOf(source)
    for i = 1, #list do write(buffer, itemAt(list, i)) end
    buffer.itemKey = nil
    return
  end
  K.contentSlot(buffer, true,
    { kind = "list", source = source, write = write, reference = referenceOf(source) }, fill)
end

-- `source collect: …` as a child.
function live.items(buffer, source, write)
  if buffer.live then return items(buffer, source, write) end
  K.laterMarkup(buffer, function(target) items(target, source, write) end)
end

-- Changes -------------------------------------------------------------------------------------------------

-- Which of the positions, all different, can stay where they are: a longest increasing subsequence.
local function staying(positions)
  local tails, before = {}, {}
  for i = 1, #positions do
    local low, high = 1, #tails
    while low <= high do
      local middle = math.floor((low + high) / 2)
      if positions[tails[middle]] < positions[i] then low = middle + 1 else high = middle - 1 end
    end
    before[i] = tails[low - 1] or false
    tails[low] = i
  end
  local stays, at = {}, tails[#tails] or false
  while at do
    stays[positions[at]] = true
    at = before[at]
  end
  return stays
end

local function quoted(text) return K.json(text) end

-- What a client does to come from the old items to the new ones, as JSON; nil if nothing.
local function operations(slot, new, byKey)
  local parts, old = {}, slot.items
  local positions = {}
  for i = 1, #old do
    local one = old[i]
    one.position = i
    if not byKey[one.key] then
      parts[#parts + 1] = '["-",' .. one.id .. "]"
      slot:drop(one.scope)
    end
  end
  for i = 1, #new do
    local was = slot.byKey[new[i].key]
    if was then
      new[i].id, new[i].was = was.id, was
      positions[#positions + 1] = was.position
    else
      slot.lastId = slot.lastId + 1
      new[i].id = slot.lastId
    end
  end
  local stays, next = staying(positions), 0
  for i = #new, 1, -1 do
    local one = new[i]
    local was = one.was
    one.was = nil
    if not was then
      parts[#parts + 1] = '["+",' .. one.id .. "," .. next .. "," .. quoted(numbered(one.text, one.id)) .. "]"
    else
      if not stays[was.position] then parts[#parts + 1] = '[">",' .. one.id .. "," .. next .. "]" end
      if was.text ~= one.text then
        parts[#parts + 1] = '["~",' .. one.id .. "," .. quoted(numbered(one.text, one.id)) .. "]"
      end
      slot:drop(was.scope)
    end
    next = one.id
  end
  if #parts == 0 then return nil end
  return "[" .. table.concat(parts, ",") .. "]"
end

-- The list again after a change: the operations as JSON, or nil.
function K.refreshList(slot)
  local page = { total = 0, form = false }
  local new, byKey = slot:tracked(function() return renderItems(slot, page) end)
  local json = operations(slot, new, byKey)
  slot.items, slot.byKey = new, byKey
  return json
end

-- The whole list, for a client that may have another state.
function K.wholeList(slot)
  local parts = {}
  for i = 1, #slot.items do parts[i] = numbered(slot.items[i].text, slot.items[i].id) end
  return quoted(table.concat(parts))
end
