-- What names mean in a program: variables, predefined names, schemes.
local K = ...

K.schemes = {}
K.variables = {}
K.installed = {} -- names of schemes that the program installed, in order
K.declared = {} -- names of variables that may hold nil
K.predefined = {}
K.predefinedNames = {}
K.replacedDefault = false
-- The store in place of the program's variables, once `scheme:default` was replaced.
K.defaultStore = false

function K.predefine(name, value)
  K.predefined[name] = value
  K.predefinedNames[name] = true
end

-- `scheme:default ← store`: the store takes the place of the program's variables.
function K.replaceDefault(store)
  K.replacedDefault, K.defaultStore = true, store
end
