-- The work of trees.st, by hand for LuaJIT.
local Tree = {}
Tree.__index = Tree
function Tree:check()
  local left = self.left
  if left == nil then return 1 end
  return 1 + left:check() + self.right:check()
end
local function tree(depth)
  if depth == 0 then return setmetatable({}, Tree) end
  return setmetatable({ left = tree(depth - 1), right = tree(depth - 1) }, Tree)
end
local function plant(depth, n)
  local sum = 0
  for _ = 1, n do sum = sum + tree(depth):check() end
  return sum
end
local long = tree(15)
print(plant(4, 32768) + plant(8, 2048) + plant(12, 128) + long:check())
