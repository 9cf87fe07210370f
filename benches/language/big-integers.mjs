function factorial(n) {
  let product = 1n;
  for (let i = 1n; i <= n; i++) product *= i;
  return product;
}
function fibonacci(n) {
  let a = 0n, b = 1n;
  for (let i = 0; i < n; i++) [a, b] = [b, a + b];
  return a;
}
function power(n) {
  let product = 1n;
  for (let i = 0; i < n; i++) product *= 2n;
  return product;
}
console.log(String(factorial(3000n)).length + String(fibonacci(20000)).length + String(power(20000)).length);
