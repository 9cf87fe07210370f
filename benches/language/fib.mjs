class Fibonacci {
  of(n) { return n < 2 ? n : this.of(n - 1) + this.of(n - 2); }
}
console.log(new Fibonacci().of(35));
