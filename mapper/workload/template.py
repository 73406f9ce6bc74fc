"""What `mapper new network NAME` writes: a small network that runs, with every key explained."""

from __future__ import annotations

from mapper.shipped import filled


def network_template(name: str) -> str:
    """The commented YAML of a small network called `name`; `load_network` reads it as it stands."""
    return filled(TEMPLATE, name, "a network")


TEMPLATE = """\
# A network: its layers in order, each under a name of its own. Check it with `mapper validate FILE`.
# Sizes are of one sample; `--batch` multiplies them. A key that mapper does not know is an error, never ignored.
name: "NAME"
description: three convolutions and a classifier for 32 x 32 images   # optional
input: {C: 3, H: 32, W: 32}   # optional: one sample, checked against the first layer; N, C for tokens
other_params: 0               # optional: trained words that belong to no layer here, such as those of normalisation

layers:
  # conv: C input and K output channels over all groups, R x S taps, and per axis the input (H, W) or the output (P, Q).
  # stride, dilation: a number or [height, width]; default 1.
  # padding: a number, [height, width], [top, bottom, left, right], or same; default 0.
  # bias: true where each output channel trains one; default false.
  # input_gradient: false where nothing trainable lies before the layer, so that its bw phase is not needed.
  - {name: conv1, conv: {C: 3, K: 16, R: 3, S: 3, H: 32, W: 32, padding: 1}, input_gradient: false}
  - {name: conv2, conv: {C: 16, K: 32, R: 3, S: 3, H: 32, W: 32, stride: 2, padding: 1}}

  # groups: depthwise is groups = C = K. repeat: how many equal layers this line stands for; default 1.
  - {name: depthwise, conv: {C: 32, K: 32, R: 3, S: 3, H: 16, W: 16, padding: 1, groups: 32}, repeat: 2}

  # linear: C input and K output features; N rows of one sample (tokens), default 1.
  - {name: classifier, linear: {C: 32, K: 10, bias: true}}

  # matmul: Z[M,N] = A[M,K] * B[K,N], a product of two activations; batched: true where there is one per sample.
  # - {name: attention, matmul: {M: 128, N: 128, K: 64}, repeat: 12, batched: true}
"""
