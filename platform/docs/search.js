// SPDX-License-Identifier: Apache-2.0
//
// The search of the reference, which needs no server. reference.py puts INDEX before it, lines [name, page, text], and the file into
// each page. It finds what has all words of the query, in names first; the shortest names come first.
const box = document.createElement("div");
box.id = "find";
box.innerHTML = '<input type="search" placeholder="Search" aria-label="Search"><ol></ol>';
document.getElementById("top").append(box);
const [input, list] = box.children;
list.onclick = () => list.replaceChildren();
input.oninput = () => {
  const words = input.value.toLowerCase().split(/\s+/).filter(Boolean);
  const has = text => words.every(word => text.toLowerCase().includes(word));
  const rank = ([name, , text]) => has(name) ? name.length : has(name + " " + text) ? 1000 + name.length : Infinity;
  const found = words.length ? INDEX.map(entry => [rank(entry), entry]).filter(([one]) => one < Infinity).sort((a, b) => a[0] - b[0]) : [];
  list.replaceChildren(...found.slice(0, 40).map(([, [name, page, text]]) => {
    const item = document.createElement("li"), link = document.createElement("a");
    [link.href, link.textContent] = [page, name];
    item.append(link, " " + text);
    return item;
  }));
};
