#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compares the answers of chat with stored ones: check.py [--short] MODEL [EMULATOR...] CHAT. Exit code: 0, 1, or 77 without the
model. With --short, for emulators, answers have only a few tokens."""
import os
import subprocess
import sys
import tempfile

F32, I8 = ['--compute', 'f32'], ['--compute', 'i8']
FUSED = ['avx2', 'avx512', 'neon']
CAPITAL = 'What is the capital of France?'
GREEDY = ['--temperature', '0', '--repeat-penalty', '1']
# The arguments, the question, and the begin of the answer by the highest scores. numpy in double on the same weights gives the
# same answer to the first.
SHORT = [(F32 + ['--system', '', '--tokens', '6'], 'What is 2 + 2?', 'The answer is 4.'),
         (I8 + ['--system', '', '--tokens', '6'], 'What is 2 + 2?', 'The answer is 4.')]
LONG = [(['--tokens', '24'], CAPITAL, 'The capital of France is Paris.'),
        (F32 + ['--tokens', '24'], CAPITAL, 'The capital of France is Paris.'),
        (F32 + ['--tokens', '24', '--cache', 'f16'], CAPITAL, 'The capital of France is Paris.'),
        (F32 + ['--tokens', '24', '--threads', '1'], 'What is 2 + 2?', 'The answer to this classic math problem is 4.'),
        (I8 + ['--tokens', '24', '--threads', '1'], 'Write a haiku about rain.', 'In the heart of the night, a gentle rain\n')]


def answer(command, model, arguments, question):
    done = subprocess.run([*command, model, *arguments, question], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    return done.returncode, done.stdout.decode(), done.stderr.decode()


def main():
    short = sys.argv[1] == '--short'
    model, *command = sys.argv[2 if short else 1:]
    if not os.path.exists(model):
        print(f'skipped: there is no {model}, which "./run model" fetches')
        return 77
    wrong = []
    for arguments, question, begin in SHORT if short else SHORT + LONG:
        code, text, messages = answer(command, model, arguments + GREEDY, question)
        print(f'{" ".join(arguments)} {question!r}: {text!r}\n{messages}')
        if 'arena: ' not in messages or 'a second' not in messages:
            wrong.append('no counts')
        if 'f32' not in arguments and not any(target in messages for target in FUSED):
            print('not compared: without fused multiply-add the answer may be another')
            continue
        if code != 0 or not text.startswith(begin):
            wrong.append(f'{question} {arguments}')
    if short:
        return report(wrong)

    # The number of threads does not change the answer; the seed does.
    def drawn(seed, threads):
        return answer(command, model, ['--tokens', '12', '--seed', seed, '--threads', threads], 'Tell me a story.')[1]
    if drawn('1', '1') != drawn('1', '2'):
        wrong.append('threads change the answer')
    if drawn('1', '1') == drawn('2', '1'):
        wrong.append('the seed is not read')

    # Without options an answer is none that repeats itself, and the threads are those that the process may use.
    text = answer(command, model, ['--tokens', '128'], 'Write a haiku about rain.')[1]
    lines = [line for line in text.splitlines() if line]
    if any(lines.count(line) > 2 for line in lines):
        wrong.append(f'an answer repeats itself: {text}')
    if hasattr(os, 'sched_setaffinity'):
        allowed = os.sched_getaffinity(0)
        for some in (set(sorted(allowed)[:1]), allowed):
            os.sched_setaffinity(0, some)
            if f' {len(some)} threads' not in answer(command, model, ['--tokens', '1'], CAPITAL)[2]:
                wrong.append(f'the threads are not those of {len(some)} processors')

    return report(wrong + talk(command, model))


# A conversation: earlier turns stay in the context until /reset.
def talk(command, model):
    def tokens(lines):
        done = subprocess.run([*command, model, '--tokens', '8'], input=lines, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        context = [int(line.split()[1]) for line in done.stderr.decode().splitlines() if line.startswith('context: ')]
        return done.returncode, context
    code, context = tokens(b'My name is Ada.\n/stats\nWhat is my name?\n/stats\n/reset\n/stats\n')
    if code != 0 or len(context) != 3 or not context[1] > context[0] > 0 or context[2] != 0:
        return [f'the conversation: {code} {context}']
    return without_room(command, model) + saved(command, model)


# A conversation that was saved and loaded goes on as the one that was not.
def saved(command, model):
    with tempfile.TemporaryDirectory() as folder:
        file, options = os.path.join(folder, 'saved'), ['--tokens', '8', *GREEDY]
        whole = subprocess.run([*command, model, *options], input=b'My name is Ada.\nWhat is my name?\n', stdout=subprocess.PIPE,
                               stderr=subprocess.PIPE).stdout.decode()
        parts = [answer(command, model, [*options, *more], question) for more, question in (
            (['--save', file], 'My name is Ada.'), (['--load', file], 'What is my name?'))]
        if ''.join(text for _, text, _ in parts) != whole or 'saved: ' not in parts[0][2] or 'loaded: ' not in parts[1][2]:
            return [f'a saved conversation goes on differently: {whole!r} {parts}']
        code, _, messages = answer(command, model, ['--load', file, '--cache', 'i4'], CAPITAL)
        if code != 1 or '--cache' not in messages:
            return ['a conversation with another cache is loaded']
        code, _, messages = answer(command, model, ['--load', file, '--context', '9'], CAPITAL)
        return [] if code == 1 and 'more than the context' in messages else ['a conversation without room is loaded']


def without_room(command, model):
    code, text, messages = answer(command, model, ['--context', '20'], CAPITAL)
    if code != 1 or 'the context has room for 20' not in messages:
        return ['a question without room is not refused']
    return []


def report(wrong):
    for text in wrong:
        print('wrong:', text)
    return 1 if wrong else 0


if __name__ == '__main__':
    sys.exit(main())
