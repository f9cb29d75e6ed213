#!/usr/bin/env python3
"""Makes configs/assets/tiny_tokenizer.model: a SentencePiece vocabulary of 1024 pieces for the tiny recipes.

The settings are Gemma's (BPE, byte fallback, every digit its own piece, no normalisation, no dummy prefix, whitespace kept,
runs of newlines and of spaces as pieces), so that prompts are built and tokenised as with the real vocabulary. It learns
from sentences that this script makes up: robot tasks, and the prompt that pi0.5 puts around them. Same output every time.

    pip install sentencepiece==0.2.3
    tools/make_tiny_tokenizer.py [-o configs/assets/tiny_tokenizer.model] [--vocab-size 1024]
"""
import argparse
import io
import itertools
import pathlib
import random
import string

VERBS = """pick up;pick;grasp;grab;lift;take;hold;place;put;move;push;pull;slide;rotate;turn;flip;open;close;press;insert;
stack;unstack;pour;wipe;fold;unfold;hang;sort;reach;touch;drop;release;hand over;screw;unscrew;plug;unplug;sweep;stir;
clean;arrange;pack;unpack;throw;tie;cut;peel;scoop;shake;align;assemble;remove;transfer;bring""".replace("\n", "").split(";")
COLOURS = "red green blue yellow orange purple pink black white grey brown silver golden".split()
SIZES = "small large big tiny tall short long flat round square empty full left right upper lower first second".split()
OBJECTS = """block cube ball bottle cup mug bowl plate box bin basket drawer door lid cap can jar tray towel cloth shirt
t-shirt sock spoon fork knife spatula pan pot lid sponge brush pen pencil marker book paper tape screw bolt nut gear cable
plug button switch handle lever knob peg ring hook shelf table counter cabinet fridge oven microwave stove sink bag battery
banana apple pear lemon orange carrot potato tomato pepper egg bread cupcake meat salt cheese toy doll car duck brick lego
target object part piece item gripper hand robot arm tower stack""".split()
PLACES = """on the table;in the box;into the bin;in the bowl;on the plate;onto the tray;in the drawer;on the shelf;
next to the cup;to the left;to the right;in front of the robot;behind the box;on top of the stack;from the counter;
from the table;off the plate;under the lid;between the blocks;at the center;in the corner;with the gripper;
with the left hand;with the right arm;and close the gripper;and open the gripper;and place it in the plate;
and put it back;and then return home;without touching the table;carefully;slowly;three times;again""".replace("\n", "").split(";")
OTHERS = ["valid", "perform the task", "success", "failure", "teleoperation demo", "advantage: positive", "advantage: negative",
          "the robot is idle", "return to the home position", "wait for the human", "follow the line", "this is a test"]


def sentences(seed=0, count=12000):
    """Task texts and prompts, from a generator of its own."""
    rng = random.Random(seed)
    for text in OTHERS:
        yield text
    for _ in range(count):
        adjectives = " ".join(rng.sample(COLOURS + SIZES, rng.choice([0, 0, 1, 1, 2])))
        noun = (adjectives + " " + rng.choice(OBJECTS)).strip()
        task = f"{rng.choice(VERBS)} {rng.choice(['the', 'the', 'a', 'one'])} {noun} {rng.choice(PLACES)}"
        task = rng.choice([task, task[0].upper() + task[1:], task[0].upper() + task[1:] + "."])
        if rng.random() < 0.5:
            bins = " ".join(str(rng.randint(-1, 255)) for _ in range(rng.choice([6, 7, 14])))
            yield f"Task: {task}, State: {bins};"
            yield "Action: "
        else:
            yield task
    for first, second in itertools.product(string.printable[:95], repeat=2):  # every printable character is a piece
        yield first + " " + second


def train(path, vocab_size):
    import sentencepiece as spm

    runs = ["\n" * n for n in range(1, 9)] + ["\u2581" * n for n in range(2, 17)]
    model = io.BytesIO()
    spm.SentencePieceTrainer.train(
        sentence_iterator=sentences(), model_writer=model, model_type="bpe", vocab_size=vocab_size, num_threads=1,
        pad_id=0, eos_id=1, bos_id=2, unk_id=3, pad_piece="<pad>", eos_piece="<eos>", bos_piece="<bos>", unk_piece="<unk>",
        byte_fallback=True, split_digits=True, normalization_rule_name="identity", add_dummy_prefix=False,
        remove_extra_whitespaces=False, allow_whitespace_only_pieces=True, character_coverage=1.0,
        user_defined_symbols=["<mask>"] + runs, minloglevel=2)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(model.getvalue())


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("-o", "--output", type=pathlib.Path,
                        default=pathlib.Path(__file__).resolve().parent.parent / "configs/assets/tiny_tokenizer.model")
    parser.add_argument("--vocab-size", type=int, default=1024)
    options = parser.parse_args()
    train(options.output, options.vocab_size)
    print(f"{options.output}: {options.output.stat().st_size} bytes")


if __name__ == "__main__":
    main()
