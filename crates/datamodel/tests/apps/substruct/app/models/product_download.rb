class ProductDownload < ApplicationRecord
  belongs_to :product
  belongs_to :download
end
