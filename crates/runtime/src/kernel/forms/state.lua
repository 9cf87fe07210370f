-- What a request says of its form, and what was refused in it and why: the page of the form shows both again.
local K = ...
local type, pairs, running = type, pairs, coroutine.running
local find, lower = string.find, string.lower

-- Whether the content of the request is a form. A type that only begins like one counts: forms need a token.
function K.hasForm()
  local kind = K.native.exchange("header", "content-type")
  kind = kind and lower(kind) or ""
  return find(kind, "application/x-www-form-urlencoded", 1, true) == 1 or find(kind, "multipart/form-data", 1, true) == 1
end

-- The field that tells whose session a form is of.
K.formTokenField = "_csrf"

-- By fiber: { fields, problems by field, message, isShown }.
local states = setmetatable({}, { __mode = "k" })

function K.formState() return states[running() or 1] end
function K.setFormState(state) states[running() or 1] = state end

-- The path of the page that a fiber writes, as its scheme sees it.
local pages = setmetatable({}, { __mode = "k" })
function K.pageAsked() return pages[running() or 1] end
function K.setPageAsked(path) pages[running() or 1] = path end

-- Fields of forms that are none of the program's.
local OWN = { [K.formTokenField] = true, _form = true, _page = true }

-- A form as the program gets it.
function K.formOfProgram(form)
  if type(form) ~= "table" or not form._isDictionary then return form end
  local copy
  for name in pairs(OWN) do
    if form:at_(name) ~= nil then
      copy = copy or form:mutableCopy()
      copy:removeKey_(name)
    end
  end
  return copy or form
end
