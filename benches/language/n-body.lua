-- The work of n-body.st, by hand for LuaJIT.
local sqrt, floor = math.sqrt, math.floor
local Body = {}
Body.__index = Body
function Body:get_x() return self.x end
function Body:get_y() return self.y end
function Body:get_z() return self.z end
function Body:get_vx() return self.vx end
function Body:get_vy() return self.vy end
function Body:get_vz() return self.vz end
function Body:get_mass() return self.mass end
function Body:set_x(value) self.x = value end
function Body:set_y(value) self.y = value end
function Body:set_z(value) self.z = value end
function Body:set_vx(value) self.vx = value end
function Body:set_vy(value) self.vy = value end
function Body:set_vz(value) self.vz = value end
local function new(x, y, z, vx, vy, vz, mass)
  return setmetatable({ x = x, y = y, z = z, vx = vx, vy = vy, vz = vz, mass = mass }, Body)
end
local function advance(bodies, dt)
  local n = #bodies
  for i = 1, n do
    local a = bodies[i]
    for j = i + 1, n do
      local b = bodies[j]
      local dx, dy, dz = a:get_x() - b:get_x(), a:get_y() - b:get_y(), a:get_z() - b:get_z()
      local distance = dx * dx + dy * dy + dz * dz
      local magnitude = dt / (distance * sqrt(distance))
      a:set_vx(a:get_vx() - dx * b:get_mass() * magnitude)
      a:set_vy(a:get_vy() - dy * b:get_mass() * magnitude)
      a:set_vz(a:get_vz() - dz * b:get_mass() * magnitude)
      b:set_vx(b:get_vx() + dx * a:get_mass() * magnitude)
      b:set_vy(b:get_vy() + dy * a:get_mass() * magnitude)
      b:set_vz(b:get_vz() + dz * a:get_mass() * magnitude)
    end
  end
  for i = 1, n do
    local body = bodies[i]
    body:set_x(body:get_x() + dt * body:get_vx())
    body:set_y(body:get_y() + dt * body:get_vy())
    body:set_z(body:get_z() + dt * body:get_vz())
  end
end
local function energy(bodies)
  local e = 0
  local n = #bodies
  for i = 1, n do
    local a = bodies[i]
    e = e + 0.5 * a:get_mass() * (a:get_vx() * a:get_vx() + a:get_vy() * a:get_vy() + a:get_vz() * a:get_vz())
    for j = i + 1, n do
      local b = bodies[j]
      local dx, dy, dz = a:get_x() - b:get_x(), a:get_y() - b:get_y(), a:get_z() - b:get_z()
      e = e - a:get_mass() * b:get_mass() / sqrt(dx * dx + dy * dy + dz * dz)
    end
  end
  return e
end
local bodies = {
  new(0, 0, 0, -0.000387663407198742665776131088862, -0.0032753590371765707711160471493,
    0.00002393572340159015455941660211, 39.47841760435743),
  new(4.84143144246472090, -1.16032004402742839, -0.103622044471123109, 0.606326392995832,
    2.81198684491626, -0.02521836165988763, 0.03769367487038949),
  new(8.34336671824457987, 4.12479856412430479, -0.403523417114321381, -1.010774346178793,
    1.825662371230412, 0.008415761376584154, 0.011286326131968767),
  new(12.8943695621391310, -15.1111514016986312, -0.223307578892655734, 1.082791006441536,
    0.8687130181696082, -0.010832637401363636, 0.0017237240570597112),
  new(15.3796971148509165, -25.9193146099879641, 0.179258772950371181, 0.979090732243898,
    0.5946989986476762, -0.034755955504078104, 0.0020336868699246304),
}
for _ = 1, 500000 do advance(bodies, 0.01) end
print(floor(energy(bodies) * 1000000 + 0.5))
