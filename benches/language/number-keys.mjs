function total(n) {
  const d = new Map();
  for (let i = 1; i <= n; i++) d.set(i, i * 2);
  let sum = 0;
  for (let i = 1; i <= n; i++) sum += d.get(i);
  return sum;
}
console.log(total(3000000));
