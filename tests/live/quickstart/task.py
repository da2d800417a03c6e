"""A Flower / PyTorch app: model, data, training and testing."""

import os
from pathlib import Path

import numpy as np
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1 = nn.Conv2d(1, 6, 5)
        self.pool = nn.MaxPool2d(2, 2)
        self.norm = nn.BatchNorm2d(6)
        self.fc1 = nn.Linear(6 * 12 * 12, 32)
        self.fc2 = nn.Linear(32, 10)

    def forward(self, x):
        x = self.pool(torch.relu(self.norm(self.conv1(x))))
        return self.fc2(torch.relu(self.fc1(x.flatten(1))))


def read(name, skip):
    raw = np.fromfile(Path(os.environ["MNIST"]) / name, dtype=np.uint8)
    return torch.from_numpy(raw[skip:].copy())


def load_data(partition_id, num_partitions):
    """A part of the training examples, and a part of it to test on."""
    x = read("train-images-idx3-ubyte", 16).reshape(-1, 1, 28, 28)[: 300 * num_partitions].float()
    y = read("train-labels-idx1-ubyte", 8)[: 300 * num_partitions].long()
    mine = slice(partition_id, None, num_partitions)
    whole = TensorDataset(x[mine] / 255, y[mine])
    train, test = torch.utils.data.random_split(whole, [240, 60])
    return DataLoader(train, batch_size=32, shuffle=True), DataLoader(test, batch_size=32)


def train(net, trainloader, epochs, lr):
    optimizer = torch.optim.SGD(net.parameters(), lr=lr, momentum=0.9)
    running = 0.0
    for _ in range(epochs):
        for x, y in trainloader:
            optimizer.zero_grad()
            loss = nn.functional.cross_entropy(net(x), y)
            loss.backward()
            optimizer.step()
            running += loss.item()
    return running / len(trainloader)


def test(net, testloader):
    net.eval()
    right, total, loss = 0, 0, 0.0
    with torch.no_grad():
        for x, y in testloader:
            out = net(x)
            loss += nn.functional.cross_entropy(out, y).item()
            right += (out.argmax(1) == y).sum().item()
            total += len(y)
    return loss / len(testloader), right / total
