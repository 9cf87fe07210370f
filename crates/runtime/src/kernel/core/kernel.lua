-- The kernel table `K`: one name, one definition.
-- While the kernel loads, a second definition of a name is an error; once it is sealed, so is a new
-- name: a file that means to replace what another defines belongs into that file.
local K = ...
local rawset, error = rawset, error

local definitions, sealed = {}, false
for name, value in pairs(K) do definitions[name] = value end

local guard = { __index = definitions }
function guard.__newindex(_, name, value)
  if sealed then error("K." .. name .. ": the kernel is sealed; define the name while it loads", 2) end
  if definitions[name] ~= nil then
    error("K." .. name .. ": defined twice", 2)
  end
  definitions[name] = value
end
setmetatable(K, guard)

-- For Rust: the end of loading. The definitions move into the table itself, so that a look-up costs
-- what it costs in any table.
function K.seal()
  for name, value in pairs(definitions) do rawset(K, name, value) end
  sealed, guard.__index = true, nil
end
