-- Programs of several files: `ref:file:lib/prices.st load`.
--
-- A file is named from the folder of the file that loads it, runs once in a process, and answers its last value each
-- time. Its variables are its own. Its classes and schemes are those of the program, so two files must not define the same.
local K = ...
local error, rawget, throw, native = error, rawget, K.throw, K.native
local Object, Reference = K.classes.Object, K.classes.Reference

-- Files of a program.
local MOST_FILES = 1000
-- Seconds between two looks whether another fiber has loaded the same file.
local POLL = 0.002

-- Those that were loaded or are being loaded, by name: their `value`, and the source that asked first, in `by`.
local files, count = {}, 0

-- `a.st loads b.st, which loads a.st`, when the file is being loaded for the source that asks for it now.
local function refuseCircle(name, by)
  local chain, at = { name }, by
  while at and files[at] and not files[at].isLoaded do
    table.insert(chain, 1, at)
    if at == name then
      throw("invalid", "files load each other: " .. table.concat(chain, " → "),
        { i_hint = "move what both need into a third file" })
    end
    at = files[at].by
  end
  if files[name].isProgram then throw("invalid", name .. " is the program itself, which nothing can load") end
end

-- The source that runs, by the name that its file would have as a loaded one. The program counts as a file that is
-- being loaded.
local function loader()
  local source = native.loadingSource()
  if files[source] then return source end
  local name = native.besideSource(source, string.match(source, "[^/]*$"))
  files[name] = files[name] or { isLoaded = false, isProgram = true }
  return name
end

-- The reference of a file as the file that loads it names it, and its name in messages.
local function placeOf(reference, by)
  if reference._scheme ~= "file" or rawget(reference, "_store") then return reference, reference:stringValue() end
  local path = native.besideSource(by, reference._path)
  return K.reference("file", path), path
end

local function missing(reference, name)
  local hint = "a path is named from the folder of the file that loads it"
  if name ~= reference._path and reference._scheme == "file" and reference:value() ~= nil then
    hint = string.format("%s; from the working directory %s exists", hint, reference._path)
  end
  throw("notFound", string.format("there is nothing at %s to load", name), { i_hint = hint })
end

local function run(reference, place, name, by)
  local source = place:value()
  if source == nil then missing(reference, name) end
  if count >= MOST_FILES then throw("tooLarge", "a program has at most " .. MOST_FILES .. " files") end
  local file = { by = by, isLoaded = false }
  files[name], count = file, count + 1
  local ok, answer = K.try(function() return native.compile(K.str(source), name)(K) end)
  if not ok then
    files[name], count = nil, count - 1
    error(answer, 0)
  end
  file.value, file.isLoaded = answer, true
  return answer
end

K.methods(Reference, {
  --- -<any> load
  --- Runs the content as a part of the program, once in a process, and answers the value of its last statement. A file
  --- is named from the folder of the file that loads it. Its variables are its own; its classes and schemes are those
  --- of the program. Files that load each other are an error, and so is one that does not exist.
  --- > { ref:file:lib/prices.st load }
  ["load"] = function(self)
    local by = loader()
    local place, name = placeOf(self, by)
    if files[name] then
      refuseCircle(name, by)
      while files[name] and not files[name].isLoaded do native.sleep(POLL) end
      if files[name] then return files[name].value end
    end
    return run(self, place, name, by)
  end,
})

local function isLoaded(name) return files[name] ~= nil and not files[name].isProgram end

-- A class of a file must not change one of another file by accident.
function K.refuseSameClass(class, name)
  local source = native.loadingSource()
  local other = class and rawget(class, "_source")
  if other and other ~= source and (isLoaded(source) or isLoaded(other)) then
    throw("conflict", string.format("the class %s is defined in %s and in %s", name, other, source),
      { i_hint = "rename one of them; `extension " .. name .. " { … }` adds messages to a class" })
  end
  return source
end

--- A framework of the original, which is built in: `framework:Name load` does nothing.
local Framework = K.newClass("Framework", Object)
--- -<String> name
--- The name of the framework.
--- > { #Framework{ name: 'Foundation' } name }
K.ivar(Framework, "name")
K.methods(Framework, {
  --- -<self> load
  --- The framework itself: it is built in.
  --- > { #Framework{ name: 'Foundation' } load }
  ["load"] = function(self) return self end,
})
function K.framework(name) return setmetatable({ i_name = name }, Framework._methods) end
