// The same work as warm.st, in JavaScript.
class Base { step(n) { return n + 1; } }
class Middle extends Base {}
class Leaf extends Middle {}

class Bench {
  fib(n) { return n < 2 ? n : this.fib(n - 1) + this.fib(n - 2); }
}
const bench = new Bench();
function dispatch(receiver) {
  let n = 0;
  for (let i = 1; i <= 10000000; i++) n = receiver.step(n);
  return n;
}
function closures(list) {
  let sum = 0;
  list.forEach((each) => { sum += each; });
  return sum;
}
const pipeline = (list) =>
  list.map((each) => each * 2).filter((each) => each > 1000).reduce((sum, each) => sum + each, 0);
function dictionary(count) {
  const d = new Map();
  for (let i = 1; i <= count; i++) d.set(`key${i % 1000}`, i);
  return d.size;
}
function sieve(limit) {
  const flags = Array.from({ length: limit }, () => true);
  let count = 0;
  for (let i = 2; i < limit; i++) {
    if (flags[i]) {
      count++;
      for (let k = i * i; k < limit; k += i) flags[k] = false;
    }
  }
  return count;
}
function json(tasks) {
  let size = 0;
  for (let i = 0; i < 100; i++) size += JSON.stringify(tasks).length;
  return size;
}
function measure(name, block) {
  let best = Infinity;
  for (let i = 0; i < 21; i++) {
    const start = performance.now();
    block();
    best = Math.min(best, performance.now() - start);
  }
  console.log(`${name} ${best}`);
}

const numbers = Array.from({ length: 1000000 }, (_, i) => i + 1);
const tasks = Array.from({ length: 1024 }, (_, i) =>
  ({ id: i + 1, done: (i + 1) % 2 === 1, title: 'Clean Room' }));
const leaf = new Leaf();

measure('fib(30)', () => bench.fib(30));
measure('dispatch-1e7', () => dispatch(leaf));
measure('closures-1e6', () => closures(numbers));
measure('pipeline-1e6', () => pipeline(numbers));
measure('dictionary-1e6', () => dictionary(1000000));
measure('sieve-1e6', () => sieve(1000000));
measure('json-1024x100', () => json(tasks));
