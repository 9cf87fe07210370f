import math


class Body:
    def __init__(self, x, y, z, vx, vy, vz, mass):
        self._x, self._y, self._z, self._vx, self._vy, self._vz, self._mass = x, y, z, vx, vy, vz, mass

    def x(self): return self._x

    def y(self): return self._y

    def z(self): return self._z

    def vx(self): return self._vx

    def vy(self): return self._vy

    def vz(self): return self._vz

    def mass(self): return self._mass

    def set_x(self, value): self._x = value

    def set_y(self, value): self._y = value

    def set_z(self, value): self._z = value

    def set_vx(self, value): self._vx = value

    def set_vy(self, value): self._vy = value

    def set_vz(self, value): self._vz = value


def advance(bodies, dt):
    n = len(bodies)
    for i in range(n):
        a = bodies[i]
        for j in range(i + 1, n):
            b = bodies[j]
            dx, dy, dz = a.x() - b.x(), a.y() - b.y(), a.z() - b.z()
            distance = dx * dx + dy * dy + dz * dz
            magnitude = dt / (distance * math.sqrt(distance))
            a.set_vx(a.vx() - dx * b.mass() * magnitude)
            a.set_vy(a.vy() - dy * b.mass() * magnitude)
            a.set_vz(a.vz() - dz * b.mass() * magnitude)
            b.set_vx(b.vx() + dx * a.mass() * magnitude)
            b.set_vy(b.vy() + dy * a.mass() * magnitude)
            b.set_vz(b.vz() + dz * a.mass() * magnitude)
    for body in bodies:
        body.set_x(body.x() + dt * body.vx())
        body.set_y(body.y() + dt * body.vy())
        body.set_z(body.z() + dt * body.vz())


def energy(bodies):
    e = 0.0
    for i, a in enumerate(bodies):
        e += 0.5 * a.mass() * (a.vx() * a.vx() + a.vy() * a.vy() + a.vz() * a.vz())
        for b in bodies[i + 1:]:
            dx, dy, dz = a.x() - b.x(), a.y() - b.y(), a.z() - b.z()
            e -= a.mass() * b.mass() / math.sqrt(dx * dx + dy * dy + dz * dz)
    return e


bodies = [
    Body(0, 0, 0, -0.000387663407198742665776131088862, -0.0032753590371765707711160471493,
      0.00002393572340159015455941660211, 39.47841760435743),
    Body(4.84143144246472090, -1.16032004402742839, -0.103622044471123109, 0.606326392995832,
      2.81198684491626, -0.02521836165988763, 0.03769367487038949),
    Body(8.34336671824457987, 4.12479856412430479, -0.403523417114321381, -1.010774346178793,
      1.825662371230412, 0.008415761376584154, 0.011286326131968767),
    Body(12.8943695621391310, -15.1111514016986312, -0.223307578892655734, 1.082791006441536,
      0.8687130181696082, -0.010832637401363636, 0.0017237240570597112),
    Body(15.3796971148509165, -25.9193146099879641, 0.179258772950371181, 0.979090732243898,
      0.5946989986476762, -0.034755955504078104, 0.0020336868699246304),
]
for _ in range(500000):
    advance(bodies, 0.01)
print(round(energy(bodies) * 1000000))
