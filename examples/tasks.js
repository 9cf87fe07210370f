// The page of tasks.st: sends what people do to the backend, and shows the page that it answers.
async function send(method, path, body) {
  const answer = await fetch(path, { method, body: body && JSON.stringify(body),
    headers: { 'content-type': 'application/json' } });
  const problem = answer.ok ? null : await answer.json();
  document.getElementById('problem').textContent = problem ? problem.detail ?? problem.title : '';
  const page = new DOMParser().parseFromString(await (await fetch('/')).text(), 'text/html');
  const focused = document.activeElement.id;
  document.querySelector('main').replaceWith(page.querySelector('main'));
  if (focused) document.getElementById(focused)?.focus();
  return answer.ok;
}

const task = (element) => `/tasks/${element.closest('li').dataset.task}`;

document.getElementById('new').onsubmit = async (event) => {
  event.preventDefault();
  const form = event.target;
  if (await send('POST', '/tasks', { title: form.title.value, done: false })) form.reset();
};
document.onchange = ({ target }) => {
  if (target.type === 'checkbox') send('PATCH', task(target), { done: target.checked });
};
document.onclick = ({ target }) => {
  if (target.matches('#tasks button')) send('DELETE', task(target));
};
