class Body {
  constructor(x, y, z, vx, vy, vz, mass) {
    this._x = x; this._y = y; this._z = z; this._vx = vx; this._vy = vy; this._vz = vz; this._mass = mass;
  }
  x() { return this._x; }
  y() { return this._y; }
  z() { return this._z; }
  vx() { return this._vx; }
  vy() { return this._vy; }
  vz() { return this._vz; }
  mass() { return this._mass; }
  setX(value) { this._x = value; }
  setY(value) { this._y = value; }
  setZ(value) { this._z = value; }
  setVx(value) { this._vx = value; }
  setVy(value) { this._vy = value; }
  setVz(value) { this._vz = value; }
}
function advance(bodies, dt) {
  const n = bodies.length;
  for (let i = 0; i < n; i++) {
    const a = bodies[i];
    for (let j = i + 1; j < n; j++) {
      const b = bodies[j];
      const dx = a.x() - b.x(), dy = a.y() - b.y(), dz = a.z() - b.z();
      const distance = dx * dx + dy * dy + dz * dz;
      const magnitude = dt / (distance * Math.sqrt(distance));
      a.setVx(a.vx() - dx * b.mass() * magnitude);
      a.setVy(a.vy() - dy * b.mass() * magnitude);
      a.setVz(a.vz() - dz * b.mass() * magnitude);
      b.setVx(b.vx() + dx * a.mass() * magnitude);
      b.setVy(b.vy() + dy * a.mass() * magnitude);
      b.setVz(b.vz() + dz * a.mass() * magnitude);
    }
  }
  bodies.forEach((body) => {
    body.setX(body.x() + dt * body.vx());
    body.setY(body.y() + dt * body.vy());
    body.setZ(body.z() + dt * body.vz());
  });
}
function energy(bodies) {
  let e = 0;
  const n = bodies.length;
  for (let i = 0; i < n; i++) {
    const a = bodies[i];
    e += 0.5 * a.mass() * (a.vx() * a.vx() + a.vy() * a.vy() + a.vz() * a.vz());
    for (let j = i + 1; j < n; j++) {
      const b = bodies[j];
      const dx = a.x() - b.x(), dy = a.y() - b.y(), dz = a.z() - b.z();
      e -= a.mass() * b.mass() / Math.sqrt(dx * dx + dy * dy + dz * dz);
    }
  }
  return e;
}
const bodies = [
  new Body(0, 0, 0, -0.000387663407198742665776131088862, -0.0032753590371765707711160471493,
    0.00002393572340159015455941660211, 39.47841760435743),
  new Body(4.84143144246472090, -1.16032004402742839, -0.103622044471123109, 0.606326392995832,
    2.81198684491626, -0.02521836165988763, 0.03769367487038949),
  new Body(8.34336671824457987, 4.12479856412430479, -0.403523417114321381, -1.010774346178793,
    1.825662371230412, 0.008415761376584154, 0.011286326131968767),
  new Body(12.8943695621391310, -15.1111514016986312, -0.223307578892655734, 1.082791006441536,
    0.8687130181696082, -0.010832637401363636, 0.0017237240570597112),
  new Body(15.3796971148509165, -25.9193146099879641, 0.179258772950371181, 0.979090732243898,
    0.5946989986476762, -0.034755955504078104, 0.0020336868699246304),
];
for (let i = 0; i < 500000; i++) advance(bodies, 0.01);
console.log(Math.round(energy(bodies) * 1000000));
