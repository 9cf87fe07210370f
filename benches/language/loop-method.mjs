class Loop {
  to(limit) {
    let sum = 0;
    for (let i = 1; i <= limit; i++) sum += i % 7;
    return sum;
  }
}
console.log(new Loop().to(50000000));
