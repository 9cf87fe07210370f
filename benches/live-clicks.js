#!/usr/bin/env node
// Clicks the only button of a page in Chromium, each time when the text of the page has changed, and tells what
// that costs the server.
//
//   npm install playwright-core; node benches/live-clicks.js URL SERVER_PID CLICKS
const { chromium } = require('playwright-core');
const fs = require('fs');

const [url, pid, clicks] = [process.argv[2], process.argv[3], Number(process.argv[4] || 1000)];

// CPU of the server in microseconds; the system counts hundredths of a second.
const cpu = () => {
  const fields = fs.readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1].split(' ');
  return (Number(fields[11]) + Number(fields[12])) * 10000;
};

const click = async (clicks) => {
  const [body, button, times] = [document.body, document.querySelector('button'), []];
  for (let i = 0; i < clicks; i++) {
    const [began, before] = [performance.now(), body.innerText];
    const changed = new Promise((done) => {
      const observer = new MutationObserver(() => {
        if (body.innerText === before) return;
        observer.disconnect();
        done();
      });
      observer.observe(body, { subtree: true, childList: true, characterData: true });
    });
    button.click();
    await changed;
    times.push(performance.now() - began);
  }
  return times.sort((one, other) => one - other);
};

(async () => {
  const browser = await chromium.launch({ executablePath: '/usr/bin/chromium', args: ['--no-sandbox'] });
  const page = await browser.newPage();
  await page.goto(url);
  await page.waitForTimeout(2000);
  const before = cpu();
  const times = await page.evaluate(click, clicks);
  const at = (part) => times[Math.floor(times.length * part)].toFixed(1);
  console.log(`${((cpu() - before) / clicks).toFixed(0)} us of CPU a click; p50 ${at(0.5)} ms, p95 ${at(0.95)} ms`);
  await browser.close();
})();
